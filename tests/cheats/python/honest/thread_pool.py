#: rmsnorm_py
#: two halves, one of them by a thread that is there since the import
from concurrent.futures import ThreadPoolExecutor

import numpy as np

pool = ThreadPoolExecutor(1)
pool.submit(int).result()


def half(x, weight, eps, out):
    scale = 1.0 / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + np.float32(eps))
    y = x * scale * weight
    np.divide(y, 1.0 + np.exp(-y), out=out)


def rmsnorm_silu(x, weight, eps):
    out, at = np.empty_like(x), len(x) // 2
    other = pool.submit(half, x[:at], weight, eps, out[:at])
    half(x[at:], weight, eps, out[at:])
    other.result()
    return out
