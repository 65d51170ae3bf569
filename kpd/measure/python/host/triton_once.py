"""Has Triton do once, before processes are forked, what each would do at its first launch."""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading

KEYS = ("triton.runtime.cache", "triton.compiler.compiler")  # which has `triton_key`, depends on the version
LATE = "triton.experimental.gluon.nvidia.hopper"  # that it imports for the types of arguments
# After which a thread that wants to run gets its turn. This one hashes without Python's lock, which it needs often.
USUAL_S, SHORT_S = sys.getswitchinterval(), 1e-4


def hashing() -> threading.Thread:
    """Begin to hash Triton's own files, as it does itself: that takes 0.4 s, in which others can be imported."""
    found = (getattr(sys.modules.get(name), "triton_key", None) for name in KEYS)
    begun = threading.Thread(target=next(filter(None, found), lambda: None))
    sys.setswitchinterval(SHORT_S)
    begun.start()
    return begun


def finish(begun: threading.Thread) -> None:
    """Import what it needs besides, and wait until its files are hashed: no process may be forked before."""
    with contextlib.suppress(ImportError):
        importlib.import_module(LATE)
    begun.join()
    sys.setswitchinterval(USUAL_S)
