"""The process that runs kernels. It knows neither seed nor truth, and candidates can change all of its code.

It was a `Spare`, with a socket and a shared memory as its descriptors. Between two requests it is
stopped. What is measured of it, its parent measures: time by the parent's clock, outputs out of this process's memory,
at addresses that the answer to a batch tells.
"""

from __future__ import annotations

import array
import ctypes
import fcntl
import gc
import importlib.util
import mmap
import os
import select
import socket
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kpd.measure.python.host import arrays, kept, ninja, owner
from kpd.measure.python.host.confined import confined, elsewhere, seal
from kpd.measure.python.host.identity import Identities, threads_of
from kpd.measure.python.host.messages import HEADER, asked, at_places, packed
from kpd.measure.python.host.places import place_of, places, readable

if TYPE_CHECKING:
    from kpd.measure.python.host.gpu import Gpu, OwnTime

NOBODY = "-"  # in the place of a side: a batch without calls
TOLD = 2000  # characters of an error


class LaidOut(NamedTuple):
    """The sets of arguments of a case, and what the last call on each returned.

    `call`, if any, calls a kernel with arrays that nobody else has, which are views of those of a set: so does a
    program that passes a slice.
    """

    sets: list[Any]
    results: list[Any]
    call: Callable[[Callable[..., Any], Any], Any] | None = None


class Kernels:
    """Both kernels, each from a folder and with modules of its own, and the inputs that lie ready for them.

    These are known by where they begin in the shared memory: several cases may lie ready at once.
    """

    def __init__(self, memory: memoryview, gpu: bool) -> None:
        self.memory = memory
        self.functions: dict[str, Callable[..., Any]] = {}
        self.laid: dict[int, LaidOut] = {}
        self.lent: list[Any] = []  # the arguments of sets whose arrays are copies
        self.held: dict[str, list[Any]] = {}  # results of each kernel, as a caller has them
        self.caches: dict[str, dict[str, str]] = {}
        self.folders: list[str] = []
        self.identities: Identities | None = None  # of before the first kernel is loaded
        self.entry = ""
        self.nothing = _small()
        if gpu:
            from kpd.measure.python.host.gpu import Gpu

            self.gpu: Gpu | None = Gpu(memory)
        else:
            self.gpu = None

    def load(self, side: str, folder: str) -> None:
        """Import kernel.py from `folder`. Modules that it imports from there are its own, and no other kernel's."""
        if self.identities is None:
            self.identities = Identities()
        self.folders.append(folder)
        self.use_cache(side)
        for path in self.caches[side].values():
            Path(path).mkdir(exist_ok=True)
        known, own = set(sys.modules), f"kernel_{len(self.functions)}"  # which tells no side
        sys.path.insert(0, folder)
        try:
            spec = importlib.util.spec_from_file_location(own, str(Path(folder, "kernel.py")))
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[own] = module
            spec.loader.exec_module(module)
        finally:
            sys.path.remove(folder)
            for name in set(sys.modules) - known:
                file = getattr(sys.modules[name], "__file__", None) or ""
                if file.startswith(folder) and name != own:
                    sys.modules[f"{side}:{name}"] = sys.modules.pop(name)
        found = getattr(module, self.entry, None)
        if not callable(found):
            raise AttributeError(f"kernel.py has no function {self.entry}")
        self.functions[side] = found

    def keep(self, side: str, folder: str) -> None:
        """Have frameworks keep what they compile for this kernel in a folder; empty: nowhere.

        Triton writes the paths of its files into others. It gets relative ones, which hold in another job, too.
        """
        names = (*kept.CACHES, "TMPDIR") if folder else ()
        paths = {name: f"{folder}/{name.lower()}" for name in names}
        self.caches[side] = {
            name: path if name == kept.TRITON else str(Path.cwd() / path) for name, path in paths.items()
        }

    def use_cache(self, side: str) -> None:
        """Let frameworks find what they keep for this kernel."""
        os.environ.update(self.caches[side])
        tempfile.tempdir = None  # where it has been asked before, it knows another TMPDIR

    def prepare(
        self, base: int, sets: list[Any], size: int, handle: str = "", anew: bool = False,
        fleeting: bool = False,
    ) -> None:  # fmt: skip
        """Take the arguments of each set, whose arrays lie in shared memory from `base` on, `size` bytes for each.

        Made `anew`, there are no others any more; `fleeting` ones are there for a call alone, on a CPU.

        On a GPU torch's lie in the memory that `handle` opens, and where there is none, in a copy of the shared one.
        """
        layouts = [tuple(arrays.untold(said) for said in arguments) for arguments in sets]
        for one in [*self.laid] if anew else [base]:
            self.laid.pop(one, None)  # frees their memory
        if self.gpu:
            self.gpu.borrow(base, handle) if handle else self.gpu.take(len(sets) * size)
            made = [self.gpu.placed(one, base) for one in layouts]
        else:
            made = [tuple(arrays.rebuilt(part, self.memory) for part in one) for one in layouts]
        self.laid[base] = LaidOut(made, [None] * len(sets), _with_views(made[0]) if fleeting and not self.gpu else None)

    def run(self, side: str, base: int, count: int, rounds: int) -> dict[str, Any]:
        """Call a kernel on the first `count` sets, `rounds` times each. Return where the last results lie.

        For nobody the device does next to nothing, so many times.
        """
        if side == NOBODY:
            busy = [self.gpu.run(self.gpu.touched.zero_, [()], [None], rounds)] if self.gpu else []
            return {"at": places([self.nothing] * count, count) + busy}
        function, (sets, results, call) = self.functions[side], self.laid[base]
        chosen = sets[:count]
        if self.gpu:
            self.use_cache(side)
            busy = [self.gpu.run(function, chosen, results, rounds)]  # the last of the addresses is none
            return {"at": places(results, count) + busy}
        for _ in range(rounds):
            for number, arguments in enumerate(chosen):
                results[number] = call(function, arguments) if call else function(*arguments)
        return {"at": places(results, count)}

    def quads(self, gpu: Gpu, order: str, base: int, count: int, rounds: int, many: int) -> dict[str, Any]:
        """Time so many A B B A and B A A B in turn, by this process's own clock; `order` begins with the first side.

        Return what each batch took, by side. A batch of each, which does not count, comes before.
        """
        sets, results, _ = self.laid[base]
        taken: dict[str, list[OwnTime]] = {side: [] for side in order}
        for number in range(-1, many):
            for side in order if number < 0 else (order + order[::-1] if number % 2 else order[::-1] + order):
                self.use_cache(side)
                taken[side].append(gpu.timed(self.functions[side], sets[:count], results, rounds))
        return {side: batches[1:] for side, batches in taken.items()}

    def hold(self, side: str, base: int, number: int, most: int, view: bool) -> list[int]:
        """Hold what the last call on a set returned, and of those that are held the `most` that came last.

        Only a `view` of it, if asked for: so has a program that keeps a part. Return where its arrays are.
        """
        results = self.laid[base].results
        parts = readable(results[number])
        if view:
            parts, results[number] = [*map(owner.view, parts)], None
        held = self.held.setdefault(side, [])
        held.append(parts)
        del held[:-most]
        return [place_of(part) if arrays.library(part) else 0 for part in parts]

    def spoil(self, base: int, number: int, which: list[int]) -> None:
        """Overwrite those arrays that the last call on a set returned, and drop all of them."""
        results = self.laid[base].results
        parts, results[number] = readable(results[number]), None
        for at in which:
            owner.overwrite(parts[at])

    def own(self, base: int) -> None:
        """Have the arguments of each set be arrays that own their memory."""
        laid = self.laid[base]
        self.lent = laid.sets
        self.laid[base] = LaidOut([*map(owner.copied, laid.sets)], laid.results)

    def owned(self, base: int) -> str:
        """Say what has been done to these arrays; nothing, if nothing has."""
        return owner.harm(self.laid[base].sets, self.lent)

    def describe(self, base: int, number: int) -> dict[str, Any]:
        """Describe the result of a set: the layout of each array, and the type of what is none."""
        result = self.laid[base].results[number]
        parts = result if type(result) is list else [result]
        return {"outputs": [self._output(part) for part in parts]}

    def leave(self, status: int) -> None:
        """End this process as a program comes to its end: threads, atexit, modules, the C library's own functions."""
        for known in (self.functions, self.laid, self.held):
            known.clear()  # what holds a kernel would keep its module from being taken apart
        gc.unfreeze()
        ctypes.pythonapi.Py_Exit(status)

    def audit(self) -> dict[str, Any]:
        """Say which functions that a measurement uses have been replaced, and how many threads kernels have left."""
        changed = self.identities.changed() if self.identities else []
        return {"changed": changed, "threads": threads_of(self.folders, threading.get_ident())}

    def _output(self, part: Any) -> Any:
        if library := arrays.library(part):
            on_device = library == "torch" and part.is_cuda
            return {"layout": list(arrays.layout_of(part)), "at": place_of(part), "device": on_device}
        return {"none": type(part).__name__}


def _with_views(arguments: tuple[Any, ...]) -> Callable[[Callable[..., Any], Any], Any]:
    """Return what calls a kernel with such arguments: only a call that names each leaves its views to the kernel."""
    parts = (
        f"of[{number}]" + ("[...]" if type(one).__name__ in owner.VIEWED else "")
        for number, one in enumerate(arguments)
    )
    made: Callable[[Callable[..., Any], Any], Any] = eval(f"lambda kernel, of: kernel({', '.join(parts)})")
    return made


def _small() -> Any:
    """Return an array of a library that is imported."""
    if "numpy" in sys.modules:
        return sys.modules["numpy"].empty(1)
    return sys.modules["torch"].empty(1) if "torch" in sys.modules else array.array("d", [0.0])


def served(kernels: Kernels, asked: dict[str, Any]) -> dict[str, Any]:
    what = asked["what"]
    if what == "run":
        return kernels.run(asked["side"], asked["base"], asked["count"], asked["rounds"])
    if what == "load":
        kernels.entry = asked["entry"]
        kernels.keep(asked["side"], asked["compiled"])
        kernels.load(asked["side"], asked["folder"])
        gc.collect()
        gc.freeze()
    elif what == "prepare":
        said = (asked.get(name, default) for name, default in (("handle", ""), ("anew", False), ("fleeting", False)))
        kernels.prepare(asked["base"], asked["sets"], asked["size"], *said)
    elif what == "share" and kernels.gpu:
        return {"memory": [kernels.gpu.shared(address) for address in asked["at"]]}
    elif what == "quads" and kernels.gpu:
        asked_for = (asked[name] for name in ("order", "base", "count", "rounds", "many"))
        return kernels.quads(kernels.gpu, *asked_for)
    elif what == "touch" and kernels.gpu:
        kernels.gpu.touch()
    elif what == "device" and kernels.gpu:
        sets = kernels.laid[asked["base"]].sets[: asked["count"]]
        return kernels.gpu.device_ns(kernels.functions[asked["side"]], sets)
    elif what == "seal":
        seal(kernels.memory)
    elif what == "audit":
        return kernels.audit()
    elif what == "hold":
        return {"held": kernels.hold(asked["side"], asked["base"], asked["set"], asked["most"], asked["view"])}
    elif what == "own":
        kernels.own(asked["base"])
    elif what == "owned":
        return {"found": kernels.owned(asked["base"])}
    elif what == "release":
        kernels.held.pop(asked["side"], None)
    elif what == "spoil":
        kernels.spoil(asked["base"], asked["set"], asked["which"])
    elif what == "describe":
        return kernels.describe(asked["base"], asked["set"])
    elif what == "leave":
        kernels.leave(asked["status"])
    return {}


def told(err: BaseException) -> dict[str, Any]:
    """Return an exception of a kernel in one line, with the place in the kernel's own files."""
    frames = [f for f in traceback.extract_tb(err.__traceback__) if "/kpd/measure/python/" not in f.filename]
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    said = f"{type(err).__name__}: {err}"
    if isinstance(err, BlockingIOError) and ("write" in str(err) or not select.select([], [2], [], 0)[1]):
        said = f"it writes more than {fcntl.fcntl(2, fcntl.F_GETPIPE_SZ) >> 10} KiB to stderr in a batch of calls"
    return {"raised": f"{said}{place}"[:TOLD]}


def main(
    channel: socket.socket,
    memory: int,
    size: int,
    libraries: list[str],
    writes: list[str] | None,
    gpu: bool,
    place: int,
) -> None:
    shared = memoryview(mmap.mmap(memory, size))
    os.close(memory)
    for name in libraries:
        __import__(name)
    apart = elsewhere(place)  # noqa: F841 - for as long as the process lives
    if gpu:
        ninja.install(Path.cwd())
    confined(writes, gpu)
    kernels = Kernels(shared, gpu)  # only now: threads of CUDA's driver are confined, too
    gc.disable()
    # The one function that may be called between two requests is this one's `recv`, in which the process is stopped.
    answer: dict[str, Any] = {}
    id = 0
    while True:
        if "at" in answer:
            channel.sendall(at_places(answer["at"], id))
        else:
            channel.sendall(packed({**answer, "id": id}))
        piece = channel.recv(1 << 16)
        while piece and (len(piece) < HEADER.size or len(piece) < HEADER.size + HEADER.unpack_from(piece)[0]):
            more = channel.recv(1 << 16)
            piece = piece + more if more else b""
        if not piece:
            os._exit(0)
        request = asked(piece[HEADER.size :])
        id = request["id"]
        try:
            answer = served(kernels, request)
        except Exception as err:  # noqa: BLE001 - a kernel may raise anything
            answer = told(err)
