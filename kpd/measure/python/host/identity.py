"""Tells which functions that a measurement uses are no longer those that were there before any kernel was loaded.

A kernel that changes the memory of its process can change this, too. One that puts a function of its own in the place
of another, as a shortcut to a good time, cannot do so unseen.
"""

from __future__ import annotations

import gc
import random
import sys
import threading
from types import FrameType, ModuleType
from typing import Any

OWN = "kpd.measure.python.host."
USED = {
    "time": ("perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "time", "time_ns", "sleep"),
    "json": ("dumps", "loads"),
    "numpy": ("ndarray", "frombuffer", "asarray", "empty", "empty_like"),
    "torch": ("Tensor", "empty", "empty_like", "zeros", "tensor", "as_tensor", "as_strided", "frombuffer", "equal"),
    "torch.Tensor": (
        "__getitem__", "__setitem__", "clone", "contiguous", "copy_", "cpu", "cuda", "data_ptr", "detach",
        "element_size", "reshape", "stride", "view", "zero_",
    ),
    "torch.cuda": (
        "CUDAGraph", "Event", "Stream", "current_stream", "default_stream", "device", "empty_cache", "graph",
        "set_stream", "stream", "synchronize",
    ),
    "torch.cuda.Event": ("elapsed_time", "query", "record", "synchronize", "wait"),
    "torch.cuda.Stream": ("query", "record_event", "synchronize", "wait_event", "wait_stream"),
    "torch._C": ("_cuda_synchronize", "_cuda_getCurrentRawStream", "_cuda_setStream", "_cuda_emptyCache"),
}  # fmt: skip
WHOLE = ("builtins", "math", "numpy", "numpy.linalg", "torch", "torch.nn.functional")  # all functions of these
BY_ITSELF = {"torch.manual_seed"}  # torch puts another one there when it is asked to compile
frames = sys._current_frames


class Identities:
    """What stands under each name, the code of what is written in Python, and what runs beside any kernel's calls."""

    def __init__(self) -> None:
        sys.addaudithook(_note_hook)
        self.known = {name: (found, code_of(found)) for name, found in named().items()}
        self.hooks = hooks()

    def changed(self) -> list[str]:
        """Return the names under which there is something else now."""
        now, hooked = named(), hooks()
        replaced = sorted(
            name
            for name, (found, code) in self.known.items()
            if now.get(name) is not found or code_of(now.get(name)) is not code
        )
        return replaced + [name for name, found in self.hooks.items() if hooked.get(name) != found]


_audit_hooks: list[str] = []
"""An item for each hook that was added after our own: nothing lists them, and nothing takes one away again."""


def _note_hook(event: str, _: object) -> None:
    if event == "sys.addaudithook":
        _audit_hooks.append(event)


def hooks() -> dict[str, Any]:
    """Return what is called, or changes how long calls take or what they say, whichever kernel is called."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    errors = {"numpy.seterr": numpy.geterr()} if numpy is not None else {}
    return {
        "sys.setprofile": sys.getprofile(), "sys.settrace": sys.gettrace(), "threading.setprofile": _hook("profile"),
        "threading.settrace": _hook("trace"), "gc.callbacks": [*gc.callbacks], "gc.enable": gc.isenabled(),
        "sys.setswitchinterval": sys.getswitchinterval(), "sys.addaudithook": len(_audit_hooks), **errors,
        **_generators(), **(_settings(torch) if torch is not None else {}),
    }  # fmt: skip


def _generators() -> dict[str, Any]:
    """Return the state of generators that all of a program shares: who draws from one shifts the numbers of others."""
    found: dict[str, Any] = {"random": random.getstate()}
    if numpy := sys.modules.get("numpy.random"):
        kind, key, *rest = numpy.get_state()
        found["numpy.random"] = kind, key.tobytes(), *rest
    if torch := sys.modules.get("torch"):
        found["torch.random"] = torch.get_rng_state().tolist()
    return found


def _settings(torch: ModuleType) -> dict[str, Any]:
    names = ("get_default_dtype", "get_num_threads", "is_grad_enabled")
    return {f"torch.{name}": getattr(torch, name)() for name in names}


def _hook(kind: str) -> Any:
    return getattr(threading, f"get{kind}", lambda: None)()


def named() -> dict[str, Any]:
    """Return what stands under the names that are looked at, of modules that are imported."""
    found = {
        f"{where}.{name}": one
        for where in WHOLE
        if (module := sys.modules.get(where))
        for name, one in list(vars(module).items())
        if callable(one) and f"{where}.{name}" not in BY_ITSELF
    }
    found |= {f"{where}.{name}": at for where, names in USED.items() for name in names if (at := _at(where, name))}
    for name, module in list(sys.modules.items()):
        if name.startswith(OWN) and type(module) is ModuleType:
            for key, one in list(vars(module).items()):
                if callable(one):
                    found[f"{name}.{key}"] = one
                if type(one) is type and one.__module__ == name:
                    found |= {f"{name}.{key}.{method}": at for method, at in vars(one).items() if callable(at)}
    return found


def _at(where: str, name: str) -> Any:
    """Return what a module has under a name, or a class of a module; None where there is none."""
    holder: Any = sys.modules.get(where)
    if holder is None:
        module, _, kind = where.rpartition(".")
        holder = getattr(sys.modules.get(module), kind, None)
    return getattr(holder, name, None)


def code_of(found: Any) -> Any:
    return getattr(found, "__code__", None)


def threads_of(folders: list[str], mine: int) -> int:
    """Count the threads, but for the one with the number `mine`, that run Python code from these folders."""
    others = [frame for number, frame in frames().items() if number != mine]
    return sum(any(_within(frame, folder) for folder in folders) for frame in others)


def _within(frame: FrameType | None, folder: str) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith(folder):
            return True
        frame = frame.f_back
    return False
