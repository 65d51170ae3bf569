#: rmsnorm_py
#: honest: functional style, a pipeline of small functions folded with reduce; overflow of exp is masked only inside errstate
"""RMSNorm over rows, then SiLU, as a composition of whole-array steps."""

from functools import partial, reduce

import numpy as np


def compose(*steps):
    return lambda value: reduce(lambda v, step: step(v), steps, value)


def normalise(eps, x):
    power = np.add.reduce(np.square(x), axis=1, keepdims=True) / np.float32(max(1, x.shape[1]))
    return np.multiply(x, np.reciprocal(np.sqrt(power + np.float32(eps))))


def scaled(weight, y):
    return np.multiply(y, weight, out=y)


def silu(y):
    with np.errstate(over="ignore"):
        gate = np.exp(np.negative(y))
    gate += np.float32(1.0)
    return np.divide(y, gate, out=gate)


def rmsnorm_silu(x, weight, eps):
    return compose(partial(normalise, eps), partial(scaled, weight), silu)(x)
