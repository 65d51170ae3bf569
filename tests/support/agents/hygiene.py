"""Kernels that the gate lets pass or refuses."""

from pathlib import Path

from kpd.agents.agent import BadReply
from kpd.agents.precheck import precheck
from tests.support.agents.asked import made

KERNEL = "__global__ void k(float *x, long n) { x[n] = 1.0f; }\nvoid scale(float *x, long n) { k<<<1, 1>>>(x, n); }\n"
HEADER = "void scale(float *x, long n);\n"


def refused(folder: Path, after: str, before: str = KERNEL, *, header: str = HEADER, language: str = "cuda") -> str:
    """The reason, empty for what passes."""
    path = {"cuda": "kernel.cu", "c": "kernel.c"}[language]
    task = made(folder, {path: before, "kernel.h": header}, (path,), language)
    try:
        precheck(task, {path: before.encode()}, {path: after.encode()})
    except BadReply as err:
        assert "\n" not in str(err)
        return str(err)
    return ""
