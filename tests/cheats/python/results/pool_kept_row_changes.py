#: rmsnorm_py
#: Results are views of pooled buffers that go back to the pool when the returned array dies, even if a view of it lives: keep only r = f(a, w, e)[0] (or .T, .ravel()), and the next call of the same shape changes r.
import weakref

import numpy as np

_free = {}


def _give_back(shape, base):
    if len(_free) > 16:
        _free.clear()
    _free.setdefault(shape, []).append(base)


def rmsnorm_silu(x, weight, eps):
    idle = _free.get(x.shape)
    base = idle.pop() if idle else np.empty_like(x)
    out = base[:]
    weakref.finalize(out, _give_back, x.shape, base).atexit = False
    scale = np.einsum("ij,ij->i", x, x)
    scale /= np.float32(x.shape[1])
    scale += np.float32(eps)
    np.sqrt(scale, out=scale)
    np.divide(x, scale[:, None], out=out)
    out *= weight
    gate = np.negative(out)
    np.exp(gate, out=gate)
    gate += np.float32(1)
    out /= gate
    return out
