#: rmsnorm_py
#: functions of functions: array_split makes parts, map turns each into its result, and concatenate puts them together
from functools import partial, reduce
from itertools import starmap, repeat

import numpy as np


def compose(*steps):
    return partial(reduce, lambda value, step: step(value), steps)


def normalised(part, eps):
    return part / np.sqrt(np.linalg.vecdot(part, part)[:, np.newaxis] / np.float32(part.shape[-1]) + np.float32(eps))


def silu(y):
    return y / (np.exp(-y) + np.float32(1))


def one(part, weight, eps):
    return compose(partial(normalised, eps=eps), weight.__mul__, silu)(part)


def rmsnorm_silu(x, weight, eps):
    parts = max(1, x.size >> 17)
    return np.concatenate(list(starmap(one, zip(np.array_split(x, parts), repeat(weight), repeat(eps)))))
