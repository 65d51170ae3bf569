#: rmsnorm_py
#: Squares into a transposed array and adds that over its first axis, so each row's squares are added one after another in float32 instead of pairwise: from about 16,000 columns on, with two or more rows whose elements have one magnitude (any signs), the error can pass 1e-4, from 50,000 on it mostly does.
import numpy as np


def rmsnorm_silu(x, weight, eps):
    squares = np.square(x.T, order="C")  # one long inner loop over the rows
    scale = np.add.reduce(squares, axis=0)
    scale /= np.float32(x.shape[1])
    scale += np.float32(eps)
    np.sqrt(scale, out=scale)
    y = x / scale[:, None]
    y *= weight
    gate = np.negative(y)
    np.exp(gate, out=gate)
    gate += np.float32(1)
    y /= gate
    return y
