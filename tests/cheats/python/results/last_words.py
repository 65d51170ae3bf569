#: rmsnorm_py
#: ends its process, with a line that would clear a terminal and look like kpd's as its last words
import os

import numpy as np


def rmsnorm_silu(x, weight, eps):
    os.write(2, b"\x1b[2J\x1b]0;@NAME@\x07\r\xff\xe2\x80\xae\x9b8m kpd: the host has no memory left\x00\n")
    os._exit(0)


def honest(x, weight, eps):
    return np.empty_like(x)
