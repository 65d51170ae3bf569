#: rmsnorm_py
#: add.reduce in double precision over the squares, and a tuple of bound ufuncs with out= that one loop goes through
import numpy as np

CHAIN = (
    ("gate", np.negative, ("y",)),
    ("gate", np.exp, ("gate",)),
    ("gate", np.add, ("gate", "one")),
    ("y", np.divide, ("y", "gate")),
)


def rmsnorm_silu(x, weight, eps):
    squares = np.add.reduce(np.multiply(x, x), axis=-1, dtype=np.float64, keepdims=True)
    squares /= x.shape[-1]
    squares += eps
    scale = np.power(squares, -0.5).astype(x.dtype)
    names = {"y": x * scale, "gate": np.empty_like(x), "one": x.dtype.type(1)}
    names["y"] *= weight
    for target, ufunc, arguments in CHAIN:
        ufunc(*(names[name] for name in arguments), out=names[target])
    return names["y"]
