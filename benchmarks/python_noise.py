"""Why do a callable's times differ from process to process? Ways to take batches of the same kernel, side by side.

    python benchmarks/python_noise.py [--task rmsnorm_triton] [--processes 12] [--seconds 170] --out FOLDER

Runs beside the kernels, without a daemon, by a Python that has what the task needs. Each process loads the task's
kernel four times and takes A B B A of two of them in each of the WAYS. Writes FOLDER/noise.json with every batch;
prints a summary: for each way the sd between processes of a case's log ratio, of their mean over the cases, in
percent, and the seconds that a case took.
"""

import argparse
import gc
import json
import os
import secrets
import select
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import log
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kpd.measure.python.host import worker as worker_module  # noqa: E402
from kpd.measure.python.host.ahead import alone  # noqa: E402
from kpd.measure.python.host.batching import batching, lay_out, rounds_of, warmed  # noqa: E402
from kpd.measure.python.host.calling import CallSets  # noqa: E402
from kpd.measure.python.host.marks import Marks  # noqa: E402
from kpd.measure.python.host.process import Worker  # noqa: E402
from kpd.measure.python.host.session import RunnerCommand, WorkerCase  # noqa: E402
from kpd.measure.python.host.spare import fork  # noqa: E402
from kpd.measure.python.host.watched import scheduled_ns  # noqa: E402

LIMIT_MS = 20_000.0
IN_WORKER = 16  # calls of a batch that the worker times itself


class Way(NamedTuple):
    """How batches are taken: of which kernels, how many quads, how much longer than now, and what is left out."""

    pair: str
    quads: int
    longer: float = 1.0
    stops: bool = True
    refreshes: bool = True
    spins: bool = True
    in_worker: bool = False


WAYS = {
    "now": Way("ab", 8, spins=False),
    "spins": Way("ab", 8),
    "spins, other loads": Way("cd", 8),
    "not stopped": Way("ab", 8, stops=False),
    "inputs stay": Way("ab", 8, refreshes=False),
    "four times as long": Way("ab", 8, longer=4),
    "a quarter as long": Way("ab", 24, longer=0.25),
    "in the worker": Way("ab", 48, in_worker=True),
    "in the worker, other loads": Way("cd", 48, in_worker=True),
}


def served(kernels: worker_module.Kernels, asked: dict[str, Any]) -> dict[str, Any]:
    """Answer as the worker does, and besides take quads by the worker's own clock."""
    if asked["what"] != "quads":
        return known(kernels, asked)
    wait = kernels.gpu.synchronize if kernels.gpu else lambda: None
    found = []
    for number in range(asked["quads"]):
        for side in quad(asked["pair"], number):
            function, chosen = kernels.functions[side], kernels.laid[0].sets[:IN_WORKER]
            rounds = -(-IN_WORKER // len(chosen))
            wait()
            begun = time.perf_counter_ns()
            for _ in range(rounds):
                for inputs in chosen:
                    function(*inputs)
            enqueued = time.perf_counter_ns()
            wait()
            found.append([side, time.perf_counter_ns() - begun, enqueued - begun])
    return {"batches": found}


known = worker_module.served


def quad(pair: str, number: int) -> str:
    a, b = pair[0], pair[1]
    return b + a + a + b if number % 2 else a + b + b + a


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
    """Take the batches: of each its kernel, the runner's nanoseconds, what the worker says, waits, CPU time."""
    worker = work.workers["a"]
    if way.in_worker:
        return list(worker.ask(LIMIT_MS, what="quads", pair=way.pair, quads=way.quads)["batches"])
    found = []
    with way_of(worker, way):
        for side in "".join(quad(way.pair, number) for number in range(way.quads)):
            calls.restore()
            if way.refreshes:
                calls.change(work.rng)
            before = scheduled_ns(worker.pid)
            answer, spent = calls.run(side, len(calls.drawn), max(1, round(rounds * way.longer)), LIMIT_MS)
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
    sides = "abcd"[number % 4 :] + "abcd"[: number % 4]
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
        for side in "cd":
            calls.learn(side, LIMIT_MS, rng)
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


def ratio(batches: list[list[Any]], pair: str, of: Callable[[list[float]], float]) -> float:
    """Return the log ratio of two kernels in percent, by some value of their batches."""
    return 100 * log(
        of([one[1] for one in batches if one[0] == pair[0]]) / of([one[1] for one in batches if one[0] == pair[1]])
    )


def by_quads(batches: list[list[Any]], pair: str) -> float:
    """Return it as kpd's judge does: the median over the quads."""
    quads = [batches[at : at + 4] for at in range(0, len(batches), 4)]
    return median(ratio(one, pair, sum) for one in quads)


def decile(times: list[float]) -> float:
    return sorted(times)[len(times) // 10]


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return for each way how much its log ratios differ between processes, in percent."""
    found: dict[str, Any] = {}
    for name, way in WAYS.items():
        cases = list(rows[0]["cases"])
        taken = {case: [row["cases"][case]["ways"][name] for row in rows] for case in cases}
        statistics: dict[str, Callable[[list[list[Any]], str], float]] = {
            "quads": by_quads,
            "decile": lambda all, pair: ratio(all, pair, decile),
            "median": lambda all, pair: ratio(all, pair, median),
        }
        row: dict[str, Any] = {"case_s": round(median(one["s"] for case in cases for one in taken[case]), 3)}
        for label, function in statistics.items():
            ratios = {case: [function(one["batches"], way.pair) for one in taken[case]] for case in cases}
            means = [fmean(each) for each in zip(*ratios.values(), strict=True)]
            row[label] = {
                "cases": [round(stdev(each), 2) for each in ratios.values()],
                "mean": round(stdev(means), 3), "bias": round(fmean(means), 3),
            }  # fmt: skip
        found[name] = row
    return found


def imports() -> dict[str, Any]:
    """Time importing torch and Triton in processes of their own, twice, with and without writing what is compiled."""
    found: dict[str, Any] = {}
    for _ in range(2):
        for flags in (["-I", "-B"], ["-I"]):
            began = time.monotonic()
            subprocess.run([sys.executable, *flags, "-c", "import numpy, torch; import triton"], check=False)
            found.setdefault(" ".join(flags), []).append(round(time.monotonic() - began, 2))
    said = subprocess.run(
        [sys.executable, "-I", "-B", "-X", "importtime", "-c", "import torch"],
        capture_output=True,
        text=True,
        check=False,
    ).stderr
    lines = [
        line.removeprefix("import time:").split("|") for line in said.splitlines() if line.startswith("import time:")
    ]
    known = [(int(own), name.strip()) for own, _, name in lines if own.strip().isdigit()]
    found["modules"] = len(known)
    found["own_ms"] = {name: own // 1000 for own, name in sorted(known, reverse=True)[:12]}
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
    found: dict[str, Any] = {"task": args.task, "imports": imports(), "cpus": os.cpu_count()}
    with tempfile.TemporaryDirectory(prefix="kpd-noise-") as folder:
        os.chdir(folder)
        Path("out").mkdir()
        with zipfile.ZipFile("kernel.zip", "w") as archive:
            archive.write(task / "kernel.py", "kernel.py")
        sys.path.insert(0, str(task))
        worker_module.served = served
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
