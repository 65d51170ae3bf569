#: rmsnorm_py
#: Columns that are a multiple of 1280 (sizes of many models) are handled in panels, whose mean squares are combined from the first and the last panel only: right for 1280 and 2560 columns, wrong for 3840, 5120, 6400, ... columns.
import numpy as np

PANEL = 1280


def rmsnorm_silu(x, weight, eps):
    rows, cols = x.shape
    if cols and cols % PANEL == 0:
        panels = x.reshape(rows, -1, PANEL)
        part = np.einsum("ijk,ijk->ij", panels, panels)
        scale = (part[:, 0] + part[:, -1]) / np.float32(2 * PANEL)
    else:
        scale = np.einsum("ij,ij->i", x, x)
        scale /= np.float32(cols)
    scale += np.float32(eps)
    np.sqrt(scale, out=scale)
    out = x / scale[:, None]
    out *= weight
    gate = np.negative(out)
    np.exp(gate, out=gate)
    gate += np.float32(1)
    out /= gate
    return out
