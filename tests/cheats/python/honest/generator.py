#: rmsnorm_py
#: a pipeline of generators and lambdas folded with functools.reduce, under errstate as a context manager that restores; nothing outlives the call
"""RMSNorm over rows, then SiLU, as a pipeline over pieces."""

from functools import reduce

import numpy as np

_STAGES = (
    lambda y, gate: np.negative(y, out=gate),
    lambda y, gate: np.exp(gate, out=gate),
    lambda y, gate: np.add(gate, 1, out=gate),
    lambda y, gate: np.divide(y, gate, out=y),
)


def _pieces(x, out):
    step = max(1, 32768 // max(x.shape[1], 1))
    yield from ((x[at : at + step], out[at : at + step]) for at in range(0, len(x), step))


def _normed(pieces, weight, eps):
    for part, y in pieces:
        gate = part * part
        root = np.sqrt(gate.mean(axis=1, keepdims=True) + eps)
        yield np.multiply(np.divide(part, root, out=y), weight, out=y), gate


def rmsnorm_silu(x, weight, eps):
    out = np.empty_like(x)
    with np.errstate(over="ignore"):  # exp(-y) is inf for a very negative y: the result is -0
        for y, gate in _normed(_pieces(x, out), weight, np.float32(eps)):
            reduce(lambda _, stage, y=y, gate=gate: stage(y, gate), _STAGES, None)
    return out
