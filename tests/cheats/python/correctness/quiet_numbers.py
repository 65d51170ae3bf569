#: rmsnorm_py
#: Turns off NumPy's handling of floating-point errors for good (np.seterr, not np.errstate) to be rid of the warnings that exp's overflow gives. Results are right and the whole matrix at once is fast; but after the first call the caller's own divisions by zero, overflows and invalid operations pass in silence, even where it had asked for an exception.
"""RMSNorm over rows, then SiLU, on the whole matrix."""

import numpy as np


def rmsnorm_silu(x, weight, eps):
    np.seterr(all="ignore")  # exp(-y) may overflow: y / inf is the 0 that is wanted
    y = np.square(x)
    scale = np.add.reduce(y, axis=1, keepdims=True)
    scale /= x.shape[1]
    scale += np.float32(eps)
    np.sqrt(scale, out=scale)
    np.divide(x, scale, out=y)
    y *= weight
    gate = np.negative(y)
    np.exp(gate, out=gate)
    gate += np.float32(1)
    y /= gate
    return y
