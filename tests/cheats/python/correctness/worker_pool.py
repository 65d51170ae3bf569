#: rmsnorm_py
#: A pool of threads that stays for all calls, and the process taken off its one core at import (sched_setaffinity to all cores): where there are more cores the gain is theirs, and the incumbent's later timings move about; the threads outlive the call, a fork after it deadlocks, and callers that pinned themselves no longer are.
"""RMSNorm over rows, then SiLU, with a pool of threads."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

CORES = min(8, os.cpu_count() or 1)
try:
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
except OSError:
    pass
_pool = ThreadPoolExecutor(CORES)


def _some(x, weight, eps, out):
    np.multiply(x, x, out=out)
    scale = 1.0 / np.sqrt(np.mean(out, axis=1, keepdims=True) + eps)
    np.multiply(x, scale, out=out)
    np.multiply(out, weight, out=out)
    gate = np.exp(-out)
    gate += np.float32(1)
    np.divide(out, gate, out=out)


def rmsnorm_silu(x, weight, eps):
    out, eps = np.empty_like(x), np.float32(eps)
    if x.size < 8192:
        _some(x, weight, eps, out)
        return out
    step = -(-x.shape[0] // CORES)
    parts = range(0, x.shape[0], step)
    jobs = [_pool.submit(_some, x[at : at + step], weight, eps, out[at : at + step]) for at in parts[1:]]
    _some(x[:step], weight, eps, out[:step])
    for job in jobs:
        job.result()
    return out
