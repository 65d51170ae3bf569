#: rmsnorm_py
#: cache-oblivious style: a module-level function halves the matrix by rows until a piece is small, with operators and in-place operators only
"""RMSNorm over rows, then SiLU, by halves."""

import numpy as np


def _half(x, weight, eps, out):
    match x.shape:
        case (0, _):
            return
        case (rows, cols) if rows > 1 and rows * cols > 40_000:
            _half(x[: rows // 2], weight, eps, out[: rows // 2])
            _half(x[rows // 2 :], weight, eps, out[rows // 2 :])
        case _:
            gate = np.square(x)
            scale = np.reciprocal(np.sqrt(gate.mean(axis=1) + eps))[:, None]
            np.multiply(x, scale, out=out)
            out *= weight
            np.exp(np.negative(out, out=gate), out=gate)
            gate += 1
            out /= gate


def rmsnorm_silu(x, weight, eps):
    out = np.empty_like(x)
    _half(x, weight, np.float32(eps), out)
    return out
