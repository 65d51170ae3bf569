#: rmsnorm_py
#: a generator yields views of blocks that fit a cache; scratch belongs to the thread
"""Blocked RMSNorm + SiLU.

Notes from tuning:
  * time.sleep(0) between blocks did nothing, gc.disable() neither; both are gone.
  * blocks of 64 KiB floats are best on the machines that were tried; from there on it is flat.
  * do not cache the result: inputs change from call to call.
"""

import threading
from collections.abc import Iterator

import numpy as np

BLOCK_ELEMENTS = 1 << 16

_local = threading.local()


def _scratch(elements: int) -> np.ndarray:
    buffer = getattr(_local, "buffer", None)
    if buffer is None or buffer.size < elements:
        buffer = _local.buffer = np.empty(max(elements, BLOCK_ELEMENTS), dtype=np.float32)
    return buffer[:elements]


def _blocks(*arrays: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield the same rows of all arrays, as many at a time as fit into a block."""
    rows, cols = arrays[0].shape
    step = max(1, BLOCK_ELEMENTS // cols)
    for start in range(0, rows, step):
        yield tuple(array[start : start + step] for array in arrays)


def _silu_inplace(y: np.ndarray, tmp: np.ndarray) -> None:
    with np.errstate(over="ignore"):
        np.exp(np.negative(y, out=tmp), out=tmp)
    tmp += 1.0
    y /= tmp


def rmsnorm_silu(x: np.ndarray, weight: np.ndarray, eps: float) -> np.ndarray:
    out = np.empty(x.shape, x.dtype)
    for source, target in _blocks(x, out):
        tmp = _scratch(source.size).reshape(source.shape)
        mean = np.einsum("ij,ij->i", source, source) / np.float32(source.shape[1])
        rms = np.sqrt(mean + np.float32(eps))
        np.divide(source, rms[:, None], out=target)
        target *= weight
        _silu_inplace(target, tmp)
    return out
