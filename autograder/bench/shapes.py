"""The size of an attention call, and the least work that it is: operations and bytes."""

from __future__ import annotations

from dataclasses import dataclass

from autograder.arrays import DTYPES, Spec

FLOPS = "4·B·N·T·S·H (two matrix products, 2 operations a multiply-add); half of it where causal"
BYTES = "query, key, value read once and the output written once"


@dataclass(frozen=True)
class Shape:
    """query (B, T, N, H), key and value (B, S, K, H)."""

    B: int
    T: int
    S: int
    N: int
    K: int
    H: int

    @classmethod
    def square(cls, B: int, T: int, N: int, H: int) -> Shape:  # noqa: N803
        """Self-attention with as many heads of key and value as of query."""
        return cls(B, T, T, N, N, H)

    def specs(self, dtype: str) -> list[Spec]:
        cache = Spec((self.B, self.S, self.K, self.H), dtype)
        return [Spec((self.B, self.T, self.N, self.H), dtype), cache, cache]

    def flops(self, causal: bool) -> float:
        """Of the two products alone, as FLOPS says."""
        return 4.0 * self.B * self.N * self.T * self.S * self.H * (0.5 if causal else 1.0)

    def least_bytes(self, dtype: str) -> int:
        """As BYTES says."""
        query, key, value = self.specs(dtype)
        return 2 * query.nbytes + key.nbytes + value.nbytes

    def cache_bytes(self, dtype: str) -> int:
        """What decoding keeps: keys and values."""
        return 2 * self.B * self.S * self.K * self.H * DTYPES[dtype].itemsize
