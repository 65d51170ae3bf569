"""Checks and times callables: the same commands and reports as kpd's driver in C, so the daemon speaks to both alike.

    bench NAME=VALUE … describe
    bench … check KERNEL SEEDS LIMIT_MS          bench … bounds KERNEL FILE LIMIT_MS
    bench … repeat KERNEL HOW MS LIMIT_MS        bench … time A B ORDER QUADS LIMIT_MS
    bench … alone A A ORDER QUADS LIMIT_MS       bench … fresh A B ORDER MS LIMIT_MS
    bench … far KERNEL SIZE_MS LIMIT_MS
    bench … solo B B ORDER QUADS LIMIT_MS: `alone` does not look at results, `solo` does
    bench … apart A B ORDER QUADS LIMIT_MS: either kernel has a process of its own, on a GPU, too
    bench … times A B QUADS LIMIT_MS PROCESSES [FRESH_MS AUDIT_QUADS FROM TO [HOW MS LIMIT_MS]]
    bench run KERNEL CALLS
    bench roofline                               bench bytecode
    bench limit_s=SECONDS … COMMAND … then times …     bench limit_s=SECONDS … COMMAND … also COMMAND … also …

A kernel is a zip archive of a candidate's files. The secret seed is the first line of stdin. `times` is `time` in
many processes, of which each reads a line: its seed, its order, the side whose kernel it has on both (-: on neither;
q: on neither, and on a GPU by its own clock, as `quick`; fresh, apart or repeat: it is that). Those from FROM on and
before TO are an audit's: with HOW a `repeat` of B, then one on fresh inputs, and then those that have AUDIT_QUADS.
What comes before `then` may take `limit_s`, and has to go well; the first process of `times` gets ready meanwhile. Each
of the commands with `also` between them may take `limit_s`, too, and reads a line of its own.

Whatever runs kernels is forked from this process, which imports what takes long, and nothing of a task.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from kpd.hosts.helper.children import prctl
from kpd.measure.python.host import (
    beyond,
    bounds,
    bytecode,
    checking,
    fresh,
    kept,
    profiled,
    quick,
    repeating,
    roofline,
    timing,
    triton_once,
)
from kpd.measure.python.host.ahead import alone
from kpd.measure.python.host.cores import cores, move
from kpd.measure.python.host.device import CudaDevice, DeviceError
from kpd.measure.python.host.environment import on_gpu
from kpd.measure.python.host.harness import HarnessError
from kpd.measure.python.host.marks import Marks
from kpd.measure.python.host.problems import KernelProblem, NotStarted
from kpd.measure.python.host.secret import line
from kpd.measure.python.host.session import RunnerCommand
from kpd.measure.python.host.spare import DUMPABLE, Spare, fork
from kpd.measure.python.host.turns import STARTED, ContestTurn, First, adopt, contest, in_child

IMPORTS = "KPD_IMPORTS"  # the libraries that take long to import
THEN, ALSO = "then", "also"
QUICK, ALONE, REPEAT = "q", "alone", "repeat"
NAMED = ("fresh", "apart", REPEAT)  # words of a line that are the names of what its process does
WORKERS = {
    "describe": 0,
    "run": 0,
    REPEAT: 3,
    "far": 3,
}  # of one command; 1 of the others, but for those that time two kernels


def say(report: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(report) + "\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> int:
    settings = {}
    while arguments and "=" in arguments[0]:
        name, _, value = arguments.pop(0).partition("=")
        settings[name] = value
    verb, *rest = arguments
    marks = Marks()
    libraries, known = os.environ.get(IMPORTS, "").split(), Path(sys.path[0]).with_name(bytecode.FILE)
    if verb == "bytecode":
        if bytecode.lack(libraries):
            with bytecode.kept(known):
                load(libraries)
        return 0
    if verb != "describe":
        with marks.of("import"), bytecode.used(known):
            load(libraries)
            gc.collect()
            gc.freeze()  # no process that is forked from this one has to look at these objects again
    if verb == "roofline":
        say(roofline.measured())
        return 0
    prctl(DUMPABLE, 0)  # nobody but root reads this process's memory from now on: seed and truth will be in it
    if THEN in rest:
        at = rest.index(THEN)
        work = partial(single, settings, marks, verb, rest[:at])
        first = First(work, float(settings["limit_s"]), verb == "check")
        return times(settings, Marks(), rest[at + 2 :], first)
    if ALSO in rest:
        return each(settings, marks, [verb, *rest])
    if verb == "times":
        return times(settings, marks, rest)
    return single(settings, marks, verb, rest)


def load(libraries: Sequence[str]) -> None:
    """Import libraries. One that is missing is told of when harness.py or a kernel imports it."""
    gc.disable()  # it would look at all objects again and again
    hashing = None
    for name in libraries:
        with contextlib.suppress(ImportError):
            __import__(name)
            if name == "numpy":
                __import__("numpy.random")  # whose state is looked at before and after a kernel is loaded
            if name == "triton":
                hashing = triton_once.hashing()
    if hashing is not None:
        triton_once.finish(hashing)
    gc.enable()


def single(settings: dict[str, str], marks: Marks, verb: str, rest: list[str], order: ContestTurn | None = None) -> int:
    """Do one command in this process, which may have a contest after it. Return the exit status.

    Workers are forked before this process reads its seed: they have a copy of all that it knows by then.
    """
    kept.unpack()
    workers = timed_workers() if verb in TIMED else WORKERS.get(verb, 1)
    workers += (verb == "check" and "baseline" in settings) + ("truth" in settings)
    spares = [fork() for _ in range(workers)]
    if order is not None:
        settings["seed"] = line()  # the contest reads on
        if not on_gpu():
            order.tell(STARTED)
    return command(settings, marks, spares, verb, rest, order)


def each(settings: dict[str, str], marks: Marks, words: list[str]) -> int:
    """Do commands one after another, each in a process of its own. Return the first exit status without a report."""
    adopt()
    while words:
        at = words.index(ALSO) if ALSO in words else len(words)
        (verb, *rest), words = words[:at], words[at + 1 :]
        if (status := in_child(partial(single, settings, marks, verb, rest), float(settings["limit_s"]))) not in (0, 1):
            return status
    return 0


def command(
    settings: dict[str, str],
    marks: Marks,
    spares: list[Spare],
    verb: str,
    rest: list[str],
    order: ContestTurn | None = None,
    device: CudaDevice | None = None,
) -> int:
    """Do what is asked for, in its order where it is a process of a contest. Return the exit status."""
    if on_gpu():
        alone()
    try:
        session = RunnerCommand(settings, marks, spares, order, device)
        if verb == "describe":
            say(session.harness.described())
            return 0
        try:
            report = done(session, verb, rest)
            say(report)
        finally:
            session.end()
    except (HarnessError, NotStarted) as err:
        sys.stderr.write(f"{err}\n")
        return 2
    except DeviceError as err:
        sys.stderr.write(f"the GPU's driver refuses what a measurement needs: {err}\n")
        return 2
    except KernelProblem as err:
        report = {**EMPTY[verb], "problem": err.report}
        say(report)
    return int(report.get("problem") is not None)


def done(session: RunnerCommand, verb: str, rest: list[str]) -> dict[str, Any]:
    """Do what is asked for, and wait until others have reported that come before it. Return the report."""
    try:
        return VERBS[verb](session, *rest)
    finally:
        session.wait_to_report()


def times(settings: dict[str, str], marks: Marks, rest: list[str], first: First | None = None) -> int:
    """Fork a process for each observation, after what comes first. Return the exit status.

    This process knows no seed, as each of them forks its worker before it reads its line.
    """
    a, b, quads, limit_ms, processes, *more = rest
    fresh_ms, audit_quads, begin, end = more[:4] or ("0", "0", "0", "0")
    repeats, audit = more[4:], range(int(begin), int(end))
    job = Path.cwd()
    cores()  # now: what is forked may have fewer CPUs

    def one(turn: ContestTurn) -> int:
        if on_gpu():
            move(os.getpid(), cores().others)
        try:
            with own_folder():
                many = 2 if turn.number in audit else timed_workers()  # kernels are timed apart only there
                many += bool(repeats) and turn.number == audit.start  # the task's own kernel may be started anew
                spares = [fork() for _ in range(many + ("truth" in settings))]
                known, device = Marks() if turn.number else marks, None  # the first one's: what it has waited for
                if turn.follows:
                    device = made_early(known) if on_gpu() else None
                    turn.wait()
                kept.give(job)
                kept.unpack()
                settings["seed"], order, what = line().split()[:3]
                if not on_gpu():  # else once it has its contexts: the driver makes one after the other
                    turn.tell(STARTED)
                sides = {"a": [a, a], "b": [b, b]}.get(what, [a, b])
                verb = {"a": ALONE, QUICK: "quick"}.get(what, what if what in NAMED else "time")
                most = fresh_ms if verb == "fresh" else audit_quads if turn.number in audit else quads
                words = [b, *repeats] if verb == REPEAT else [*sides, order, most, limit_ms]
                status = command(settings, known, spares, verb, words, turn, device)
            sys.stdout.flush()
            return status
        except BaseException:
            traceback.print_exc()
            raise

    return contest(int(processes), one, first, audit[bool(repeats)] if audit else None)


def made_early(marks: Marks) -> CudaDevice | None:
    """Return the device with a context, which takes half a second; None where there is an error to be told of later."""
    with contextlib.suppress(DeviceError), marks.of("context"):
        return CudaDevice()
    return None


def timed_workers() -> int:
    """Return in how many processes two kernels are timed: see `RunnerCommand.both`."""
    return 1 if on_gpu() else 2


@contextlib.contextmanager
def own_folder() -> Iterator[None]:
    """Work in a folder where no other process of the job writes; remove it after."""
    folder = tempfile.mkdtemp(prefix="process", dir=Path.cwd())
    os.chdir(folder)
    try:
        yield
    finally:
        with contextlib.suppress(RecursionError):  # it may be as deep as a kernel likes
            shutil.rmtree(folder, ignore_errors=True)


VERBS: dict[str, Callable[..., dict[str, Any]]] = {
    "check": checking.check,
    "bounds": bounds.bounds,
    REPEAT: repeating.repeat,
    "far": beyond.call_far,
    "time": timing.time_both,
    "quick": quick.quick,
    ALONE: timing.time_incumbent,
    "solo": timing.time_both,
    "apart": timing.time_apart,
    "fresh": fresh.fresh,
    "run": profiled.run,
}
TIMED = ("time", "quick", ALONE, "solo", "apart", "fresh")
EMPTY: dict[str, dict[str, Any]] = {
    "check": checking.NOTHING, "bounds": {}, REPEAT: {"calls": {}}, "far": {"sizes": 0}, "time": {"cases": {}},
    "quick": {"cases": {}}, ALONE: {"cases": {}}, "solo": {"cases": {}}, "apart": {"cases": {}}, "fresh": {"cases": {}},
    "run": {},
}  # fmt: skip

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
