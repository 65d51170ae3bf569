"""What the log and the socket cost: round trips, events a second, a start and an attach with 10,000 iterations.

    python benchmarks/wire.py [iterations]

Prints one JSON object. The daemon's end runs in a process of its own: store, journal and server, without an engine.
"""

import asyncio
import json
import platform
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from kpd.client import ask
from kpd.daemon.journal import EventJournal
from kpd.daemon.server import Server
from kpd.daemon.store import EventStore
from kpd.model import codec, events as e
from kpd.model.budget import Budget
from kpd.model.kinds import Told
from kpd.model.notices import Said
from kpd.model.profiles import CaseTime, Finding
from kpd.model.state import State
from kpd.model.verdicts import Gain, Verdict
from kpd.subscription import Client

ITERATIONS_A_RUN = 100
EVENTS = 20_000
ASKED = 300


def main() -> None:
    iterations = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory(prefix="kpd-bench-") as folder:
        found: dict[str, Any] = {
            "machine": f"{platform.system()} {platform.machine()}, Python {sys.version.split()[0]}"
        }
        found["append"] = append(Path(folder) / "append.db")
        found["wire"] = asyncio.run(wire(Path(folder)))
        found["large_log"] = asyncio.run(large_log(Path(folder), iterations))
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


def append(path: Path) -> dict[str, float]:
    """One durable event: written, flushed, folded."""
    journal = EventJournal(EventStore(path))
    took = [timed(lambda: journal.emit(e.Noticed("info", Said("x" * 200)))) for _ in range(ASKED)]
    journal.close()
    return {"emit_median_us": 1e6 * median(took), "emit_p99_us": 1e6 * sorted(took)[int(0.99 * len(took))]}


async def wire(folder: Path) -> dict[str, float]:
    daemon = await Daemon.start(folder, folder / "wire.db")
    async with Client(daemon.path, "benchmark") as client:
        took = []
        for _ in range(ASKED):
            begun = time.perf_counter()
            await client.query("nothing")
            took.append(time.perf_counter() - begun)
        whole = [timed(lambda: ask(daemon.path, "query", "nothing")) for _ in range(ASKED // 10)]
        messages = client.messages()
        await anext(messages)
        begun = time.perf_counter()
        flood = asyncio.create_task(client.command("flood", count=EVENTS))
        seen = 0
        while seen < EVENTS:
            seen += isinstance(await anext(messages), e.Event)
        seconds = time.perf_counter() - begun
        await flood
    await daemon.end()
    return {
        "round_trip_median_us": 1e6 * median(took),
        "connect_ask_close_median_us": 1e6 * median(whole),
        "events_a_second": EVENTS / seconds,
    }


async def large_log(folder: Path, iterations: int) -> dict[str, float]:
    path = folder / "large.db"
    events = write_log(path, iterations)
    cold = await Daemon.start(folder, path)
    await cold.end()  # leaves a snapshot
    daemon = await Daemon.start(folder, path)
    before = daemon.rss()
    begun = time.perf_counter()
    async with Client(daemon.path, "benchmark") as client:
        state = await anext(client.messages())
        seconds = time.perf_counter() - begun
        assert isinstance(state, State)
        assert sum(len(run.iterations) for run in state.runs.values()) == iterations
        attached = daemon.rss()
        await asyncio.sleep(0.2)
        busy = daemon.process.cpu_times()
        await asyncio.sleep(10)
        idle = daemon.process.cpu_times()
    await daemon.end()
    return {
        "iterations": iterations,
        "events": events,
        "log_mb": path.stat().st_size / 1e6,
        "snapshot_mb": len(codec.encode(state)) / 1e6,
        "load_from_scratch_s": cold.load_s,
        "load_from_snapshot_s": daemon.load_s,
        "attach_to_state_s": seconds,
        "daemon_rss_mb": before,
        "daemon_rss_after_attach_mb": attached,
        "daemon_idle_cpu_pct": round(10 * (idle.user + idle.system - busy.user - busy.system), 2),
    }


class Daemon:
    """This script again, as the daemon's end."""

    def __init__(self, child: asyncio.subprocess.Process, path: Path, load_s: float) -> None:
        self.child = child
        self.path = path
        self.load_s = load_s
        self.process = psutil.Process(child.pid)

    @classmethod
    async def start(cls, folder: Path, store: Path) -> "Daemon":
        child = await asyncio.create_subprocess_exec(
            sys.executable, __file__, "serve", str(folder / "s"), str(store), stdout=asyncio.subprocess.PIPE
        )
        assert child.stdout is not None
        return cls(child, folder / "s", json.loads(await child.stdout.readline())["load_s"])

    def rss(self) -> float:
        return float(self.process.memory_info().rss) / 1e6

    async def end(self) -> None:
        await asyncio.to_thread(ask, self.path, "command", "end")
        await self.child.wait()


async def serve(path: Path, store: Path) -> None:
    begun = time.perf_counter()
    journal = EventJournal(EventStore(store))
    load_s = time.perf_counter() - begun
    ending = asyncio.Event()

    async def on_query(_what: str, _args: dict[str, Any]) -> None:
        return None

    async def on_command(verb: str, args: dict[str, Any], _by: str) -> None:
        if verb == "end":
            ending.set()
            return
        event = journal.emit(e.Noticed("info", Said("x" * 200)))
        for _ in range(args["count"] - 1):  # published as an event is, without the cost of the disk
            journal._publish(event)
            await asyncio.sleep(0)

    async with Server(path, journal, on_query, on_command):
        sys.stdout.write(json.dumps({"load_s": load_s}) + "\n")
        sys.stdout.flush()
        await ending.wait()
    journal.close()


def write_log(path: Path, iterations: int) -> int:
    """A log of whole runs, written in one go."""
    EventStore(path).close()
    rows = [
        (
            n,
            1.7e9 + n,
            fact.kind(),
            getattr(fact, "run", None),
            getattr(fact, "iteration", None),
            codec.encode(fact).decode(),
        )
        for n, fact in enumerate(story(iterations), start=1)
    ]
    with sqlite3.connect(path) as db:
        db.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", rows)
    db.close()
    return len(rows)


def story(iterations: int) -> Iterator[e.Fact]:
    yield e.DaemonStarted("0.1.0", 1, "/workspace")
    for number in range(iterations):
        at = number % ITERATIONS_A_RUN
        run = f"r{number // ITERATIONS_A_RUN + 1}"
        if at == 0:
            yield e.RunQueued(run, "rmsnorm_silu_cpu", "sweep", "local", Budget())
            yield e.RunStarted(run, "cpu 1")
        yield from whole_iteration(run, at)
        if at == ITERATIONS_A_RUN - 1:
            yield e.RunEnded(run, "no_gain", Told("the budget is spent"))


def whole_iteration(run: str, at: int) -> Iterator[e.IterationFact]:
    """All that is recorded of an iteration that was rejected: 20 events."""
    yield e.IterationStarted(run, at, "sweep", 0)
    for fact in iteration(run, at):
        yield e.StepStarted(run, at, e.STEP_OF[type(fact)])
        yield fact
    yield e.IterationEnded(run, at, "rejected", Told("not faster by 2 %: 0.4 % [−0.3, 1.1]"))


def iteration(run: str, at: int) -> Iterator[e.StepFact]:
    took = (run, at, 0.5, 0.01)
    metrics = {f"metric_{n}": 1.5 * n for n in range(40)}
    cases = tuple(CaseTime(f"case {n}", 10.0, 11.0, 9.1, 1e6, 1e6, 5.0) for n in range(5))
    finding = Finding("far_below_bandwidth", "high", "far below", "look at memory", {"gbs": 3.0})
    yield e.Proposed(*took, {"kernel.c": "0" * 64}, "tile 64, unroll 4", None, {"TILE": "64", "UNROLL": "4"})
    yield e.Screened(*took)
    yield e.Staged(*took, "0" * 64)
    yield e.Built(*took, "0" * 64, False, "-O3 -march=native")
    yield e.Checked(*took, 120, 0.3, "case 1")
    yield e.Timed(*took, 12.5, 7, cases, 0, 45.0)
    yield e.Judged(
        *took, Verdict("same", Gain(0.4, -0.3, 1.1), 7, False, "told", told="not faster by 2 %: 0.4 % [−0.3, 1.1]")
    )
    yield e.Profiled(*took, metrics)
    yield e.Explained(*took, "45 % of the bandwidth", (finding, finding))


def timed(action: Callable[[], object]) -> float:
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        asyncio.run(serve(Path(sys.argv[2]), Path(sys.argv[3])))
    else:
        main()
