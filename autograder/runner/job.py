"""A job: an artifact and what it must be. The judge writes it, the runner reads it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from autograder.arrays import Spec
from autograder.wire import Header


@dataclass(frozen=True)
class Job:
    """An artifact, the types of its arguments and results, and the rules it is under.

    `cudnn` is None where no cuDNN call is allowed, else whether the call has the causal mask;
    `float32_only` allows no type of lower precision anywhere; `float8` allows float8. With `facts_only` it is
    checked and not compiled: it cannot be run. `like` are artifacts
    that we made with TransformerEngine: this one may hold the same custom calls.
    """

    artifact: bytes
    ins: tuple[Spec, ...]
    outs: tuple[Spec, ...]
    cudnn: bool | None = None
    float32_only: bool = False
    float8: bool = False
    facts_only: bool = False
    like: tuple[bytes, ...] = ()

    @property
    def blob(self) -> bytes:
        """The artifact's bytes, then those of `like`."""
        return b"".join((self.artifact, *self.like))

    def to_json(self) -> Header:
        """All but the bytes of `blob`, of which it says the numbers."""
        return {
            "size": len(self.blob),
            "like": [len(artifact) for artifact in self.like],
            "ins": [spec.to_json() for spec in self.ins],
            "outs": [spec.to_json() for spec in self.outs],
            "cudnn": None if self.cudnn is None else {"is_causal": self.cudnn},
            "float32_only": self.float32_only,
            "float8": self.float8,
            "facts_only": self.facts_only,
        }

    @classmethod
    def from_json(cls, header: Header, blob: bytes) -> Job:
        ends = list(itertools.accumulate(header["like"], initial=len(blob) - sum(header["like"])))
        return cls(
            blob[: ends[0]],
            tuple(map(Spec.from_json, header["ins"])),
            tuple(map(Spec.from_json, header["outs"])),
            None if header["cudnn"] is None else bool(header["cudnn"]["is_causal"]),
            bool(header["float32_only"]),
            bool(header["float8"]),
            bool(header["facts_only"]),
            tuple(blob[start:end] for start, end in itertools.pairwise(ends)),
        )
