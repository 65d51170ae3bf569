"""out = 2 a + b. Agents edit this file: keep the function and its arguments, harness.py calls it."""

import numpy as np

BLOCK = 1024


def kernel(a, b):
    out = np.empty_like(a)
    for start in range(0, a.size, BLOCK):
        part = slice(start, start + BLOCK)
        out[part] = 2 * a[part] + b[part]
    return out
