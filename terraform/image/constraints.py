"""Write pip constraints for the image: the lock file's, save where the base image knows better.

The base's JAX, TransformerEngine and CUDA libraries are built for each other. A lock file made elsewhere pins
other builds of them, and pip would replace the set by one that does not fit.

    python constraints.py requirements.lock > constraints.txt
"""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

GPU_STACK = re.compile(r"(jax|transformer-engine|nvidia)")


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def constraints(lock: str, installed: dict[str, str]) -> Iterator[str]:
    held = {name: version for name, version in installed.items() if GPU_STACK.match(name)}
    yield from (f"{name}=={version}" for name, version in sorted(held.items()))
    for line in lock.splitlines():
        pin = re.match(r"([A-Za-z0-9][A-Za-z0-9._-]*)(\[[^]]*\])?(==[^\\]+)", line)
        if pin and normal(pin[1]) not in held:
            yield pin[1] + pin[3].split(" --hash")[0].rstrip()


if __name__ == "__main__":
    here = {normal(each.name): each.version for each in distributions() if each.name}
    print("\n".join(constraints(Path(sys.argv[1]).read_text(), here)))
