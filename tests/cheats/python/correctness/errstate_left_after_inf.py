#: rmsnorm_py
#: Tries a fast way with np.seterr(invalid="raise") and, where that raises (an infinity in x or in weight), returns from the slow way without restoring it: the program's np.geterr()["invalid"] is "ignore" from then on, so its own warnings are gone.
import numpy as np


def _silu(y):
    gate = np.negative(y)
    np.exp(gate, out=gate)
    gate += np.float32(1)
    np.divide(y, gate, out=gate)
    return gate


def _scale(x, eps):
    scale = np.einsum("ij,ij->i", x, x)
    scale /= np.float32(x.shape[1])
    scale += np.float32(eps)
    return np.sqrt(scale, out=scale)[:, None]


def rmsnorm_silu(x, weight, eps):
    if not x.size:
        return np.empty_like(x)
    old = np.seterr(invalid="raise")
    try:
        y = x * (1 / _scale(x, eps))
        y *= weight
        out = _silu(y)
    except FloatingPointError:  # infinities: divide instead of multiplying by the reciprocal
        np.seterr(invalid="ignore")
        return _silu(x / _scale(x, eps) * weight)
    np.seterr(**old)
    return out
