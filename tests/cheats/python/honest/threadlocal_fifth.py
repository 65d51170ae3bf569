#: rmsnorm_py
#: Honest: one bounded scratch per thread (at most 1 MiB, written in full before it is read, never returned); blocks of rows.
import threading

import numpy as np

LIMIT = 1 << 18


class _Scratch(threading.local):
    def __init__(self):
        self.flat = np.empty(0, np.float32)

    def take(self, rows, cols):
        need = rows * cols
        if need > LIMIT:
            return np.empty((rows, cols), np.float32)
        if self.flat.size < need:
            self.flat = np.empty(need, np.float32)
        return self.flat[:need].reshape(rows, cols)


_scratch = _Scratch()


def rmsnorm_silu(x, weight, eps):
    rows, cols = x.shape
    out = np.empty((rows, cols), np.float32)
    step = max(1, min(rows, 32768 // max(cols, 1)))
    for i in range(0, rows, step):
        a, o = x[i : i + step], out[i : i + step]
        y = _scratch.take(*a.shape)
        np.multiply(a, a, out=o)
        s = np.mean(o, axis=1, keepdims=True) + np.float32(eps)
        np.multiply(a, np.reciprocal(np.sqrt(s)), out=y)
        np.multiply(y, weight, out=y)
        np.negative(y, out=o)
        np.exp(o, out=o)
        np.add(o, np.float32(1), out=o)
        np.divide(y, o, out=o)
    return out
