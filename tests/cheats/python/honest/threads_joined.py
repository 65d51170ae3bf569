#: rmsnorm_py
#: Honest: large inputs are divided among a pool of threads and joined before the return; small ones are computed in the calling thread.
"""RMSNorm over rows, then SiLU: blocks of rows, in threads where it pays. Nothing runs when the function has returned."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

BLOCK = 1 << 18  # elements for which a thread is worth its cost


def block(x, weight, eps, out):
    with np.errstate(over="ignore"):
        scale = np.einsum("ij,ij->i", x, x)
        scale /= np.float32(x.shape[1])
        scale += np.float32(eps)
        np.reciprocal(np.sqrt(scale, out=scale), out=scale)
        np.multiply(x, scale.reshape(-1, 1), out=out)
        np.multiply(out, weight, out=out)
        gate = np.negative(out)
        np.exp(gate, out=gate)
        gate += np.float32(1)
        np.divide(out, gate, out=out)


def rmsnorm_silu(x, weight, eps):
    out = np.empty_like(x)
    rows = x.shape[0]
    workers = len(os.sched_getaffinity(0)) if x.size >= 2 * BLOCK and hasattr(os, "sched_getaffinity") else 1
    parts = min(workers, rows, x.size // BLOCK)
    if parts < 2:
        block(x, weight, eps, out)
        return out
    step = -(-rows // parts)
    with ThreadPoolExecutor(parts) as pool:
        jobs = [pool.submit(block, x[at : at + step], weight, eps, out[at : at + step]) for at in range(0, rows, step)]
        for job in jobs:
            job.result()
    return out
