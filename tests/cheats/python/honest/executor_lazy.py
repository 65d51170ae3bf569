#: rmsnorm_py
#: a ThreadPoolExecutor that is made at the first call that is large enough, with as many threads as processors are allowed
import atexit
import os
from concurrent.futures import ThreadPoolExecutor, wait
from functools import lru_cache, partial

import numpy as np

MIN_ELEMENTS_PER_THREAD = 1 << 14


def cpus() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        return os.cpu_count() or 1


@lru_cache(maxsize=1)
def executor() -> ThreadPoolExecutor:
    pool = ThreadPoolExecutor(max_workers=cpus(), thread_name_prefix="rmsnorm")
    atexit.register(partial(pool.shutdown, wait=False))
    return pool


def rows_into(x, weight, eps, out):
    scale = np.einsum("ij,ij->i", x, x)
    scale /= np.float32(x.shape[1])
    scale += eps
    np.sqrt(scale, out=scale)
    np.divide(x, scale[:, None], out=out)
    out *= weight
    e = np.exp(-out)
    e += np.float32(1)
    out /= e


def rmsnorm_silu(x, weight, eps):
    out = np.empty_like(x)
    eps = np.float32(eps)
    shares = min(cpus(), len(x), max(1, x.size // MIN_ELEMENTS_PER_THREAD))
    if shares == 1:
        rows_into(x, weight, eps, out)
        return out
    bounds = [len(x) * k // shares for k in range(shares + 1)]
    futures = [
        executor().submit(rows_into, x[low:high], weight, eps, out[low:high])
        for low, high in zip(bounds[1:-1], bounds[2:])
    ]
    rows_into(x[: bounds[1]], weight, eps, out[: bounds[1]])
    done, _ = wait(futures)
    for future in done:
        future.result()
    return out
