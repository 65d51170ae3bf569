import numpy as np


def quick(x, weight, eps):
    """Compute all rows at once."""
    squares = np.einsum("ij,ij->i", x, x) / np.float32(x.shape[1])
    y = x * (1.0 / np.sqrt(squares + np.float32(eps)))[:, None] * weight
    return y / (1.0 + np.exp(-y))
