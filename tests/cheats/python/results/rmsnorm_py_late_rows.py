#: rmsnorm_py
#: Hands the last quarter of the rows to a worker thread and returns without waiting for it: mostly ready before anybody looks, but the work is done after the return (and reads x, which the caller may have changed by then).
from concurrent.futures import ThreadPoolExecutor

import numpy as np

_pool = ThreadPoolExecutor(1)


def compute(x, weight, eps, out):
    scale = np.multiply(x, x).mean(axis=1, keepdims=True)
    scale += np.float32(eps)
    np.sqrt(scale, out=scale)
    np.divide(x, scale, out=out)
    out *= weight
    below = np.negative(out)
    np.exp(below, out=below)
    below += 1
    out /= below


def rmsnorm_silu(x, weight, eps):
    out = np.empty_like(x)
    split = x.shape[0] - x.shape[0] // 4
    if x.size < 8192:
        split = x.shape[0]
    else:
        _pool.submit(compute, x[split:], weight, eps, out[split:])
    compute(x[:split], weight, eps, out[:split])
    return out
