"""Why do a callable's times differ from process to process? Ways to take batches of the same kernel, side by side.

    python benchmarks/python_noise.py [--task rmsnorm_triton] [--processes 12] [--seconds 170] --out FOLDER

Runs beside the kernels, without a daemon, by a Python that has what the task needs. Each process loads the task's
kernel twice and takes A B B A of both in each of the WAYS. Writes FOLDER/noise.json with every batch; prints a summary:
for each way the sd between processes of a case's log ratio, of their mean over the cases, in percent, and the seconds
that a case took; of the mean also with fewer quads.
"""

import argparse
import gc
import json
import os
import secrets
import select
import signal
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from math import log
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kpd.measure.python.host.ahead import alone  # noqa: E402
from kpd.measure.python.host.batching import batching, lay_out, rounds_of, warmed  # noqa: E402
from kpd.measure.python.host.calling import CallSets  # noqa: E402
from kpd.measure.python.host.cases import WorkerCase  # noqa: E402
from kpd.measure.python.host.marks import Marks  # noqa: E402
from kpd.measure.python.host.process import Worker  # noqa: E402
from kpd.measure.python.host.session import RunnerCommand  # noqa: E402
from kpd.measure.python.host.spare import fork  # noqa: E402
from kpd.measure.python.host.watched import scheduled_ns  # noqa: E402

LIMIT_MS = 20_000.0
FEWER = (8, 16, 32, 48, 64, 96)  # quads


class Way(NamedTuple):
    """How batches are taken: how many quads, how much longer than usual, and what is left out."""

    quads: int
    longer: float = 1.0
    stops: bool = True
    refreshes: bool = True
    spins: bool = True
    own_clock: bool = False


WAYS = {
    "now": Way(16),
    "the runner sleeps": Way(16, spins=False),
    "not stopped": Way(16, stops=False),
    "inputs stay": Way(16, refreshes=False),
    "four times as long": Way(8, longer=4),
    "a quarter as long": Way(24, longer=0.25),
    "own clock": Way(96, longer=0.5, own_clock=True),
    "own clock, short": Way(192, longer=0.2, own_clock=True),
}


def quad(number: int) -> str:
    return "abba" if number % 2 else "baab"


@contextmanager
def way_of(worker: Worker, way: Way) -> Iterator[None]:
    """Have the runner spin while it waits, or not stop its worker."""

    def spinning(limit_ms: float) -> bool:
        until = time.monotonic() + limit_ms / 1000
        while not waiting(0):
            if time.monotonic() >= until:
                return False
        return True

    def waiting(limit_ms: float) -> bool:
        return bool(select.select([worker.line], [], [], limit_ms / 1000)[0])

    worker._ready = spinning if way.spins else waiting  # type: ignore[method-assign]
    if not way.stops:
        worker.stop = worker._refuse_unasked = lambda: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        for name in ("_ready", "stop", "_refuse_unasked"):
            vars(worker).pop(name, None)
        worker.stop()


def taken(work: WorkerCase, calls: CallSets, rounds: int, way: Way) -> list[list[Any]]:
    """Take the batches: of each its kernel, the nanoseconds, what the worker says, waits, CPU time."""
    worker, rounds = work.workers["a"], max(1, round(rounds * way.longer))
    if way.own_clock:
        asked = {"order": "ab", "base": calls.base, "count": len(calls.drawn), "rounds": rounds, "many": way.quads}
        said = worker.ask(LIMIT_MS, what="quads", **asked)
        sides = {side: iter(batches) for side, batches in said.items()}
        return [[side, *next(sides[side])] for number in range(way.quads) for side in quad(number)]
    found = []
    with way_of(worker, way):
        for side in "".join(quad(number) for number in range(way.quads)):
            calls.restore()
            if way.refreshes:
                calls.change(work.rng)
            before = scheduled_ns(worker.pid)
            answer, spent = calls.run(side, len(calls.drawn), rounds, LIMIT_MS)
            waited, ran = (now - then for now, then in zip(scheduled_ns(worker.pid), before, strict=True))
            spent -= worker.request(len(calls.drawn)).ns
            found.append([side, spent, answer["at"][-1] if worker.gpu else None, waited, ran])
    return found


def observed(kernel: str, number: int, pinned: bool) -> dict[str, Any]:
    """Take every way in every case, in a worker of this process."""
    begun = time.monotonic()
    spare = fork()
    if pinned:
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(spare.pid, {cores[-1]})
        os.sched_setaffinity(0, {cores[len(cores) // 2 - 1]})
    alone()
    session = RunnerCommand({"seed": secrets.token_hex(8), "inputs": "normal"}, Marks(), [spare])
    sides = "ba" if number % 2 else "ab"
    rng = session.rng()
    how = batching(session.gpu)
    drawing = session.drawing(((case, "normal", how.bases) for case in session.harness.cases), rng)
    worker = session.worker(dict.fromkeys(sides, kernel))
    ready = time.monotonic() - begun
    found: dict[str, Any] = {}
    for case, drawn in zip(session.harness.cases, drawing, strict=True):
        began = time.monotonic()
        work = WorkerCase(session, dict.fromkeys(sides, worker), case, "normal", rng, LIMIT_MS, drawn)
        warm = warmed(work, False)
        lay_out(warm, 0)
        calls, rounds = warm.calls, rounds_of(warm)
        row: dict[str, Any] = {
            "count": len(calls.drawn), "rounds": rounds, "bytes": calls.drawn[0].size,
            "ready_s": time.monotonic() - began, "ways": {},
        }  # fmt: skip
        names = list(WAYS)
        for name in names[number % len(names) :] + names[: number % len(names)]:
            began = time.monotonic()
            batches = taken(work, calls, rounds, WAYS[name])
            row["ways"][name] = {"s": round(time.monotonic() - began, 3), "batches": batches}
        if session.gpu:
            began = time.monotonic()
            row["device_ns"] = calls.device_ns("a")
            row["device_s"] = time.monotonic() - began
        found[case] = row
    spent = session.spent()
    session.end()
    return {
        "process": number,
        "pinned": pinned,
        "start_s": ready,
        "idle_ns": worker.request(1).ns,
        "spent": spent,
        "cases": found,
    }


def by_quads(batches: list[list[Any]]) -> float:
    """Return the log ratio of both kernels in percent as kpd's judge does: the median over the quads."""

    def spent(quad: list[list[Any]], side: str) -> float:
        return float(sum(one[1] for one in quad if one[0] == side))

    quads = [batches[at : at + 4] for at in range(0, len(batches), 4)]
    return median(100 * log(spent(one, "a") / spent(one, "b")) for one in quads)


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return for each way how much its log ratios differ between processes, in percent."""
    found: dict[str, Any] = {}
    for name, way in WAYS.items():
        cases = list(rows[0]["cases"])
        taken = {case: [row["cases"][case]["ways"][name] for row in rows] for case in cases}

        def ratios(quads: int, taken: dict[str, list[dict[str, Any]]] = taken) -> dict[str, list[float]]:
            return {case: [by_quads(one["batches"][: 4 * quads]) for one in some] for case, some in taken.items()}

        means = {
            quads: [fmean(each) for each in zip(*ratios(quads).values(), strict=True)]
            for quads in (*FEWER, way.quads)
            if quads <= way.quads
        }
        found[name] = {
            "case_s": round(median(one["s"] for some in taken.values() for one in some), 3),
            "cases_sd": [round(stdev(each), 2) for each in ratios(way.quads).values()],
            "mean_sd": {quads: round(stdev(each), 3) for quads, each in means.items()},
            "bias": round(fmean(means[way.quads]), 3),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="rmsnorm_triton")
    parser.add_argument("--processes", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=170.0)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    begun = time.monotonic()
    args.out.mkdir(parents=True, exist_ok=True)
    out = args.out.resolve()
    task = ROOT / "tasks" / args.task
    os.environ.setdefault("TRITON_CACHE_AUTOTUNING", "1")
    signal.alarm(int(args.seconds) + 60)
    found: dict[str, Any] = {"task": args.task, "cpus": os.cpu_count()}
    with tempfile.TemporaryDirectory(prefix="kpd-noise-") as folder:
        os.chdir(folder)
        Path("out").mkdir()
        with zipfile.ZipFile("kernel.zip", "w") as archive:
            archive.write(task / "kernel.py", "kernel.py")
        sys.path.insert(0, str(task))
        for name in ("numpy", "torch", "triton"):
            try:
                __import__(name)
            except ImportError as err:
                print(err, file=sys.stderr)
        gc.collect()
        gc.freeze()
        rows: list[dict[str, Any]] = []
        for number in range(args.processes):
            if time.monotonic() - begun > args.seconds:
                break
            pid = os.fork()
            if pid == 0:
                try:
                    Path("row.json").write_text(json.dumps(observed("kernel.zip", number, number % 2 == 1)))
                    os._exit(0)
                finally:
                    sys.excepthook(*sys.exc_info())
                    os._exit(1)
            if os.waitpid(pid, 0)[1]:
                break
            rows.append(json.loads(Path("row.json").read_text()))
            (out / "noise.json").write_text(json.dumps({**found, "rows": rows}))
            print(
                f"process {number}: {time.monotonic() - begun:.0f} s, {rows[-1]['spent']}", file=sys.stderr, flush=True
            )
        os.chdir("/")
    if len(rows) > 1:
        found["summary"] = summary(rows)
    print(json.dumps(found, indent=1))
    (out / "noise_summary.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
