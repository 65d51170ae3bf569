#: rmsnorm_py
#: has thousands of threads from its import on, all of which are to be stopped and woken up for each batch
import threading

import numpy as np

threading.stack_size(1 << 16)
for _ in range(4000):
    threading.Thread(target=threading.Event().wait, daemon=True).start()


def rmsnorm_silu(x, weight, eps):
    return honest(x, weight, eps)


def honest(x, weight, eps):
    out = np.empty_like(x)
    for start in range(0, x.shape[0], 2):
        part = x[start : start + 2]
        scale = 1.0 / np.sqrt(np.mean(part * part, axis=1, keepdims=True) + np.float32(eps))
        y = part * scale * weight
        out[start : start + 2] = y / (1.0 + np.exp(-y))
    return out
