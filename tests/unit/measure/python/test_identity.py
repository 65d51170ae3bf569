"""What a worker on a GPU tells of functions that are no longer those that were there."""

import builtins
import gc
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kpd.measure.python.host import arrays
from kpd.measure.python.host.identity import Identities

Patch = Callable[[pytest.MonkeyPatch], Any]
CHANGES: dict[str, Patch] = {
    "time.monotonic_ns": lambda patch: patch.setattr("time.monotonic_ns", lambda: 0),
    "numpy.exp": lambda patch: patch.setitem(vars(np), "exp", np.exp2),
    "builtins.len": lambda patch: patch.setattr(builtins, "len", len.__call__),
    "gc.callbacks": lambda patch: patch.setattr(gc, "callbacks", [print]),
    "sys.setswitchinterval": lambda patch: sys.setswitchinterval(1e-6),
    "kpd.measure.python.host.arrays.flat": lambda patch: patch.setattr(
        arrays.flat, "__code__", (lambda value: None).__code__
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_would_change_any_kernels_calls_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known, interval = Identities(), sys.getswitchinterval()
    CHANGES[name](monkeypatch)
    found = known.changed()
    monkeypatch.undo()
    sys.setswitchinterval(interval)
    assert found == [name]
    assert known.changed() == []


@pytest.mark.parametrize("name", ["sys.setprofile", "sys.settrace"])
def test_a_function_that_is_called_for_each_line_is_seen(name: str) -> None:
    found: list[str] = []

    def looks() -> None:  # in a thread of its own: this one's functions may be those of a debugger
        known = Identities()
        getattr(sys, name.partition(".")[2])(lambda *_: None)
        found.extend(known.changed())

    thread = threading.Thread(target=looks)
    thread.start()
    thread.join()
    assert found == [name]
