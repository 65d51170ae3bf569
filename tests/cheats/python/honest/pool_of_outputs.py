#: rmsnorm_py
#: outputs that nobody has any more are used again
import sys

import numpy as np

pools = {}


def rmsnorm_silu(x, weight, eps):
    pool = pools.setdefault(x.shape, [])
    for at in range(len(pool)):
        if sys.getrefcount(pool[at]) == 2:
            out = pool[at]
            break
    else:
        out = np.empty_like(x)
        pool.append(out)
    np.multiply(x, x, out=out)
    scale = 1.0 / np.sqrt(out.mean(axis=1, keepdims=True) + np.float32(eps))
    y = x * scale * weight
    np.exp(-y, out=out)
    out += 1.0
    return np.divide(y, out, out=out)
