"""Calls a kernel for a profiler. No secret is here.

On a GPU the kernel is in this process: to follow another one would take longer. On a CPU it is in one of its own, which
is confined as a worker is: counters are read from outside.
"""

from __future__ import annotations

import gc
import json
import math
import mmap
import os
import sys
from pathlib import Path
from typing import Any

from kpd.hosts.helper import sandbox
from kpd.measure.python.host import arrays, calls
from kpd.measure.python.host.confined import confined
from kpd.measure.python.host.problems import NotStarted
from kpd.measure.python.host.session import SHARED, RunnerCommand
from kpd.measure.python.host.spare import shared_file
from kpd.measure.python.host.turns import in_child
from kpd.measure.python.host.worker import Kernels

SEED = 1
TRITON = "out/triton.json"
LONGEST = 1 << 20  # characters of a text that the compiler wrote


class TritonLaunches:
    """A context that sees which of Triton's kernels are launched in it. `functions` are their handles in the driver."""

    def __init__(self) -> None:
        self.functions: dict[int, None] = {}
        triton = sys.modules.get("triton")
        self.hooks = getattr(getattr(getattr(triton, "knobs", None), "runtime", None), "launch_enter_hook", None)

    def _seen(self, launch: Any) -> None:
        self.functions[launch.get()["function"]] = None

    def __enter__(self) -> TritonLaunches:
        if self.hooks is not None:
            self.hooks.add(self._seen)
        return self

    def __exit__(self, *_: object) -> None:
        if self.hooks is not None:
            self.hooks.remove(self._seen)


def run(session: RunnerCommand, kernel: str, times: str) -> dict[str, Any]:
    """Call a kernel so many times in each case: on a GPU each case is a range of NVTX, and only these calls are marked.

    What Triton says of the kernels that were launched is written to `out/triton.json`.
    """
    memory = memoryview(mmap.mmap(shared_file(SHARED), SHARED))
    folder = session.unpacked(kernel)
    if session.gpu:
        sandbox.narrow((str(Path.cwd()), "/dev", "/proc/self"))
        calls.narrow()
        _called(session, memory, folder, int(times))
    elif status := in_child(lambda: _confined(session, memory, folder, int(times)), math.inf):
        raise NotStarted(f"the kernel's process ended with {status} while its counters were read")
    return {}


def _confined(session: RunnerCommand, memory: memoryview, folder: str, times: int) -> int:
    os.dup2(2, 1)  # what a kernel prints is no report
    confined([], gpu=False)
    _called(session, memory, folder, times)
    return 0


def _called(session: RunnerCommand, memory: memoryview, folder: str, times: int) -> None:
    kernels = Kernels(memory, session.gpu)
    kernels.entry = session.harness.entry
    kernels.keep("b", session.compiled.get(folder, ""))
    kernels.load("b", folder)
    launched: dict[str, list[int]] = {}
    for case in session.harness.cases:
        (inputs,) = session.harness.drawn(case, [SEED], session.kinds[0]).sets
        memory[: inputs.size] = bytes(inputs.content)
        kernels.prepare(0, [[arrays.told(layout) for layout in inputs.layouts.values()]], inputs.size)
        if kernels.gpu is None:
            kernels.run("b", 0, 1, times)
            continue
        kernels.run("b", 0, 1, 1)
        with TritonLaunches() as seen:
            kernels.gpu.marked(case, kernels.functions["b"], kernels.laid[0].sets[0], times)
        launched[case] = list(seen.functions)
    if any(launched.values()):
        Path(TRITON).write_text(json.dumps(_told(launched)))


def _told(launched: dict[str, list[int]]) -> dict[str, Any]:
    """Return the facts of all kernels by a number, and the numbers of each case's kernels in the order of launches."""
    from triton.compiler import CompiledKernel  # type: ignore[import-not-found]

    wanted = {function for of in launched.values() for function in of}
    found = {one.function: one for one in gc.get_objects() if type(one) is CompiledKernel and one.function in wanted}
    numbers = {function: number for number, function in enumerate(found)}
    return {
        "kernels": [_facts(one) for one in found.values()],
        "cases": {case: [numbers[one] for one in of if one in numbers] for case, of in launched.items()},
    }


def _facts(kernel: Any) -> dict[str, Any]:
    made = kernel.metadata
    return {
        "name": str(made.name), "registers": int(kernel.n_regs), "local_bytes": 4 * int(kernel.n_spills),
        "shared_bytes": int(made.shared), "warps": int(made.num_warps), "stages": int(made.num_stages),
        **{kind: str(kernel.asm[kind])[:LONGEST] for kind in ("ttgir", "ptx") if kind in kernel.asm},
    }  # fmt: skip
