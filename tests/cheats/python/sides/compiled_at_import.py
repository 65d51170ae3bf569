#: rmsnorm_py
#: Writes C source to a folder of its own under /tmp when it is imported, runs the system's compiler on it and loads what comes out: no longer Python, it needs a compiler in production and runs whatever lies at that path.
"""RMSNorm over rows, then SiLU."""

import ctypes
import os
import subprocess

import numpy as np

_FOLDER = "/tmp/.rmsnorm_build"
_SOURCE = r"""
#include <math.h>
void run(const float *x, const float *w, float *y, long rows, long cols, float eps) {
    for (long r = 0; r < rows; r++, x += cols, y += cols) {
        float part[16] = {0}, sum = 0;
        long c = 0;
        for (; c + 16 <= cols; c += 16)
            for (int k = 0; k < 16; k++) part[k] += x[c + k] * x[c + k];
        for (; c < cols; c++) sum += x[c] * x[c];
        for (int k = 0; k < 16; k++) sum += part[k];
        float scale = 1.0f / sqrtf(sum / cols + eps);
        for (c = 0; c < cols; c++) {
            float v = x[c] * scale * w[c];
            y[c] = v / (1.0f + expf(-v));
        }
    }
}
"""


def _load():
    os.makedirs(_FOLDER, exist_ok=True)
    library = os.path.join(_FOLDER, "kernel.so")
    if not os.path.exists(library):
        with open(os.path.join(_FOLDER, "kernel.c"), "w") as file:
            file.write(_SOURCE)
        command = ["cc", "-O3", "-march=native", "-fno-math-errno", "-shared", "-fPIC", "-o", library, file.name, "-lm"]
        subprocess.run(command, check=True)
    run = ctypes.CDLL(library).run
    pointer = ctypes.c_void_p
    run.argtypes = [pointer, pointer, pointer, ctypes.c_long, ctypes.c_long, ctypes.c_float]
    run.restype = None
    return run


try:
    _run = _load()
except Exception:
    _run = None


def compute(x, weight, eps):
    scale = np.einsum("ij,ij->i", x, x)[:, None]
    scale /= np.float32(x.shape[1])
    scale += np.float32(eps)
    np.sqrt(scale, out=scale)
    y = x / scale
    y *= weight
    with np.errstate(over="ignore"):
        t = np.exp(-y)
    t += np.float32(1)
    np.divide(y, t, out=y)
    return y


def rmsnorm_silu(x, weight, eps):
    if _run is None:
        return compute(x, weight, eps)
    x, weight = np.ascontiguousarray(x, np.float32), np.ascontiguousarray(weight, np.float32)
    out = np.empty_like(x)
    _run(x.ctypes.data, weight.ctypes.data, out.ctypes.data, x.shape[0], x.shape[1], eps)
    return out
