#: rmsnorm_py
#: The kernel is a table of (ufunc, operands, target), interpreted over named registers in a local dict: data instead of code, no state between calls.
import numpy as np

ONE = np.float32(1)
PROGRAM = (
    (np.multiply, ("x", "x"), "out"),
    (lambda a, out: np.mean(a, axis=1, keepdims=True, out=out), ("out",), "norm"),
    (np.add, ("norm", "eps"), "norm"),
    (np.sqrt, ("norm",), "norm"),
    (np.divide, ("x", "norm"), "out"),
    (np.multiply, ("out", "weight"), "out"),
    (np.negative, ("out",), "gate"),
    (np.exp, ("gate",), "gate"),
    (np.add, ("gate", "one"), "gate"),
    (np.divide, ("out", "gate"), "out"),
)


def rmsnorm_silu(x, weight, eps):
    if not x.size:
        return np.empty_like(x)
    register = {
        "x": x,
        "weight": weight,
        "eps": np.float32(eps),
        "one": ONE,
        "out": np.empty_like(x),
        "gate": np.empty_like(x),
        "norm": np.empty((x.shape[0], 1), x.dtype),
    }
    for operation, operands, target in PROGRAM:
        operation(*[register[name] for name in operands], out=register[target])
    return register["out"]
