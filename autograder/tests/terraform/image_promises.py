"""What terraform/image/Dockerfile promises. Each function returns the faults that it finds."""

import re

from .documents import Files, get, instructions, manifests
from .pod_promises import DOCTOR_SECONDS

Faults = list[str]
DOCKERFILE = "image/Dockerfile"


def arguments(files: Files, instruction: str) -> list[str]:
    return [rest for name, rest in instructions(files[DOCKERFILE]) if name == instruction]


def base_is_pinned(files: Files) -> Faults:
    (base,) = arguments(files, "FROM")
    args = dict(arg.partition("=")[::2] for arg in arguments(files, "ARG"))
    found = (
        []
        if base.endswith(":${BASE_VERSION}@${BASE_DIGEST}")
        else ["the base is not named by version and digest"]
    )
    if not re.fullmatch(r"\d\d\.\d\d-py3", args.get("BASE_VERSION", "")):
        found.append("the base's version is not fixed")
    if args.get("BASE_DIGEST") != "":
        found.append("the digest is not left to whoever builds")
    return found


def user_is_not_root(files: Files) -> Faults:
    names = [name for name, _ in instructions(files[DOCKERFILE])]
    users = arguments(files, "USER")
    documents = manifests({name: text for name, text in files.items() if name.endswith(".yaml")})
    pods = [get(document, "spec", "template", "spec", "securityContext") for document in documents]
    numbers = {f"{pod['runAsUser']}:{pod['runAsGroup']}" for pod in pods if pod}
    found = [] if set(users) == numbers else [f"runs as {users}, the manifests say {numbers}"]
    if "USER" in names and "RUN" in names[names.index("USER") :]:
        found.append("something is installed by the user who runs it")
    return found


def package_comes_from_the_lock(files: Files) -> Faults:
    installs = [run for run in arguments(files, "RUN") if "pip install" in run]
    found = [] if installs else ["the package is not installed"]
    for run in installs:
        if (
            "constraints.py requirements.lock > constraints.txt" not in run
            or "--constraint constraints.txt" not in run
        ):
            found.append("what is installed is not locked")
    if any("http" in rest for name, rest in instructions(files[DOCKERFILE]) if name in ("ADD", "RUN")):
        found.append("something is downloaded past the lock")
    return found


def transformer_engine_is_tried(files: Files) -> Faults:
    tried = any("import transformer_engine.jax" in run for run in arguments(files, "RUN"))
    return [] if tried else ["an image without TransformerEngine would be built"]


def doctor_is_the_health_check(files: Files) -> Faults:
    checks = arguments(files, "HEALTHCHECK")
    if len(checks) != 1 or not checks[0].endswith('CMD ["grade", "doctor"]'):
        return ["no health check"]
    minutes = {name: int(number) for name, number in re.findall(r"--([a-z-]+)=(\d+)m\b", checks[0])}
    enough = 60 * minutes.get("timeout", 0) >= DOCTOR_SECONDS
    found = [] if enough else ["doctor is not given the time that it gives itself"]
    return found if "--interval=1h" in checks[0] else [*found, "doctor disturbs a measurement often"]


def jupyter_listens_to_itself_only(files: Files) -> Faults:
    (command,) = arguments(files, "CMD")
    return [] if '"--ip=127.0.0.1"' in command else ["Jupyter listens to the network"]


def build_sees_what_it_copies_and_no_more(files: Files) -> Faults:
    copied = {source for copy in arguments(files, "COPY") for source in copy.split()[:-1]}
    everything, *lines = files["image/Dockerfile.dockerignore"].split()
    seen = {line[1:] for line in lines if line.startswith("!")}
    found = [] if everything == "*" else ["the build sees the whole repository"]
    found += [f"{source} is copied and hidden" for source in sorted(copied - seen)]
    return found + [f"{source} is seen and not copied" for source in sorted(seen - copied)]
