#: rmsnorm_py
#: an object with __call__ and a workspace by shape (lru_cache), logging, and a self-test at the end
"""RMSNorm followed by SiLU.

The work is bound by memory and by ``exp``; this version makes five passes over a block of rows that fits into the L2 cache
and writes each of them with ``out=`` into one workspace. The result is a fresh array in every call: the workspace is
private to this module, and nobody outside sees it.

Run the file itself for a small benchmark and a comparison with the definition.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

log = logging.getLogger(__name__)

L2_BYTES = 1 << 20


@dataclass(frozen=True)
class Workspace:
    rows: int
    cols: int
    squares: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "squares", np.empty((self.rows, self.cols), np.float32))
        log.debug("workspace of %d x %d", self.rows, self.cols)


@lru_cache(maxsize=16)
def workspace(rows: int, cols: int) -> Workspace:
    return Workspace(rows, cols)


class RMSNormSiLU:
    """Callable, so that the block size is a parameter of the object and not a global."""

    def __init__(self, block_bytes: int = L2_BYTES // 2) -> None:
        self.block_bytes = block_bytes

    def block_rows(self, rows: int, cols: int) -> int:
        return max(1, min(rows, self.block_bytes // (4 * cols)))

    def __call__(self, x: np.ndarray, weight: np.ndarray, eps: float) -> np.ndarray:
        assert x.ndim == 2 and weight.shape == x.shape[1:]
        rows, cols = x.shape
        step = self.block_rows(rows, cols)
        scratch = workspace(step, cols).squares
        out = np.empty_like(x)
        eps32 = np.float32(eps)
        for start in range(0, rows, step):
            part = x[start : start + step]
            y = out[start : start + step]
            tmp = scratch[: len(part)]
            np.multiply(part, part, out=tmp)
            scale = tmp.mean(axis=1, keepdims=True)
            scale += eps32
            np.sqrt(scale, out=scale)
            np.reciprocal(scale, out=scale)
            np.multiply(part, scale, out=y)
            np.multiply(y, weight, out=y)
            np.negative(y, out=tmp)
            np.exp(tmp, out=tmp)
            tmp += np.float32(1)
            np.divide(y, tmp, out=y)
        return out


rmsnorm_silu = RMSNormSiLU()


if __name__ == "__main__":
    logging.basicConfig(level=logging.DEBUG)
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((128, 256), np.float32), rng.standard_normal(256, np.float32)
    began = time.perf_counter()
    for _ in range(100):
        got = rmsnorm_silu(a, b, 1e-6)
    took = (time.perf_counter() - began) / 100
    want = a / np.sqrt((a.astype("f8") ** 2).mean(1, keepdims=True) + 1e-6) * b
    want = want / (1 + np.exp(-want))
    print(f"{took * 1e6:.1f} us, largest error {np.abs(got - want).max():.2e}")
