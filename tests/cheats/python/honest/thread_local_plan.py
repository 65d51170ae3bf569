#: rmsnorm_py
#: honest: an object as kernel; a scratch of fixed size for each thread, kept between calls, holds intermediate values only; the result is always new
"""RMSNorm over rows, then SiLU, as a callable object with a bounded workspace per thread."""

import threading

import numpy as np


class Kernel(threading.local):
    SIZE = 1 << 15

    def __init__(self):
        self.work = np.empty(self.SIZE, np.float32)

    def __call__(self, x, weight, eps):
        rows, cols = x.shape
        out = np.empty(x.shape, x.dtype)
        step = max(1, self.SIZE // max(1, cols))
        room = min(step, rows) * cols
        fits = room <= self.SIZE and x.dtype == np.float32
        work = (self.work[:room] if fits else np.empty(room, x.dtype)).reshape(min(step, rows), cols)
        for start in range(0, rows, step):
            self.block(x[start : start + step], weight, np.float32(eps), out[start : start + step], work)
        return out

    @staticmethod
    def block(x, weight, eps, out, work):
        y = work[: x.shape[0]]
        norm = np.square(x, out=y).mean(axis=1, keepdims=True)
        norm += eps
        np.reciprocal(np.sqrt(norm, out=norm), out=norm)
        np.multiply(x, norm, out=y)
        np.multiply(y, weight, out=y)
        np.exp(np.negative(y, out=out), out=out)
        out += np.float32(1.0)
        np.divide(y, out, out=out)


rmsnorm_silu = Kernel()
