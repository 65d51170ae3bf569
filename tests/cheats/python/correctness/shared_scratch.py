#: rmsnorm_py
#: Intermediate values live in two module-level arrays that grow with the largest call and are used by all: no allocation but the result's. Two threads that call at once (NumPy lets go of the interpreter's lock in each step) write into one another's values and return wrong results; the task's own kernel may be called by any number of threads.
"""RMSNorm over rows, then SiLU, with scratch memory that is kept."""

import numpy as np

_scratch = {}


def _take(name, x):
    line = _scratch.get(name)
    if line is None or line.size < x.size or line.dtype != x.dtype:
        line = _scratch[name] = np.empty(max(x.size, 1 << 15), x.dtype)
    return line[: x.size].reshape(x.shape)


def rmsnorm_silu(x, weight, eps):
    squares, gate = _take("squares", x), _take("gate", x)
    np.multiply(x, x, out=squares)
    scale = np.add.reduce(squares, axis=1, keepdims=True)
    scale /= x.shape[1]
    scale += np.float32(eps)
    np.sqrt(scale, out=scale)
    y = np.divide(x, scale, out=squares)
    y *= weight
    np.negative(y, out=gate)
    np.exp(gate, out=gate)
    gate += np.float32(1)
    return np.divide(y, gate)
