#: rmsnorm_py
#: the task's own way with scratch that is kept, by shape, and results that are made in each call
import numpy as np

scratch = {}


def rmsnorm_silu(x, weight, eps):
    out, eps = np.empty_like(x), np.float32(eps)
    square, y = scratch.get(x.shape) or scratch.setdefault(x.shape, (np.empty_like(x[:2]), np.empty_like(x[:2])))
    for start in range(0, x.shape[0], 2):
        part = x[start : start + 2]
        a, b = square[: len(part)], y[: len(part)]
        np.multiply(part, part, out=a)
        scale = 1.0 / np.sqrt(np.mean(a, axis=1, keepdims=True) + eps)
        np.multiply(part, scale, out=b)
        np.multiply(b, weight, out=b)
        np.negative(b, out=a)
        np.exp(a, out=a)
        np.add(a, 1.0, out=a)
        np.divide(b, a, out=out[start : start + 2])
    return out
