#: rmsnorm_py
#: Halves the rows recursively until a part fits the L2 cache, and computes each part in place in its slice of the result.
import numpy as np

LEAF = 1 << 15  # elements


def _solve(x, weight, eps, out):
    rows = len(x)
    if rows > 1 and x.size > LEAF:
        half = rows >> 1
        _solve(x[:half], weight, eps, out[:half])
        _solve(x[half:], weight, eps, out[half:])
        return
    np.multiply(x, x, out=out)
    norm = np.add.reduce(out, axis=1, keepdims=True)
    norm /= np.float32(x.shape[1])
    norm += eps
    np.sqrt(norm, out=norm)
    np.divide(x, norm, out=out)
    out *= weight
    gate = np.negative(out)
    np.exp(gate, out=gate)
    gate += np.float32(1)
    out /= gate


def rmsnorm_silu(x, weight, eps):
    out = np.empty_like(x)
    if out.size:
        _solve(x, weight, np.float32(eps), out)
    return out
