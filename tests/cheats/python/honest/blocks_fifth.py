#: rmsnorm_py
#: Honest: blocks of rows sized by cache, walked with a generator, each step a ufunc into slices of the output.
import numpy as np

ELEMENTS = 1 << 15


def _blocks(*arrays):
    rows, cols = arrays[0].shape
    step = max(1, ELEMENTS // max(1, cols))
    for i in range(0, rows, step):
        yield tuple(a[i : i + step] for a in arrays)


def rmsnorm_silu(x, weight, eps):
    out = np.empty_like(x)
    for a, o in _blocks(x, out):
        np.square(a, out=o)
        m = np.add.reduce(o, axis=1, keepdims=True, dtype=np.float64)
        s = (1.0 / np.sqrt(m / max(1, x.shape[1]) + eps)).astype(np.float32)
        y = a * s * weight
        np.exp(np.negative(y, out=o), out=o)
        np.add(o, 1.0, out=o)
        np.true_divide(y, o, out=o)
    return out
