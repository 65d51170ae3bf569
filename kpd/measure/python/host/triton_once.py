"""Has Triton do once, before processes are forked, what each would do at its first launch."""

from __future__ import annotations

import contextlib
import gc
import importlib
import sys

KEYS = ("triton.runtime.cache", "triton.compiler.compiler")  # which has `triton_key`, depends on the version
LATE = "triton.experimental.gluon.nvidia.hopper"  # that it imports for the types of arguments


def prepare() -> None:
    """Have it hash its own files, which takes 0.4 s, and import what it needs; nothing where it is not imported."""
    if "triton" not in sys.modules:
        return
    with contextlib.suppress(ImportError):
        importlib.import_module(LATE)
    for name in KEYS:
        if hash_files := getattr(sys.modules.get(name), "triton_key", None):
            hash_files()
            break
    gc.freeze()
