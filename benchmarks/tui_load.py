"""The UI under load: attaching to a large log, keys while news pours in, memory over an hour of it, and what it writes
to its terminal. Prints JSON.

    python benchmarks/tui_load.py [--iterations 10000] [--seconds 30] [--hour 3600]

A store, a journal and a server in a process of their own send 1,000 events a second and 2 MB of output a second to the
real UI under a pseudo-terminal. A key counts as painted when the text that it brings has come. The hour is simulated:
its messages are handed to the UI, without a socket, as fast as it takes them.
"""

import argparse
import asyncio
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import psutil
from terminal import COLUMNS, ROWS, Terminal, terminal
from wire import ITERATIONS_A_RUN, whole_iteration, write_log

from kpd.daemon import views
from kpd.daemon.journal import EventJournal
from kpd.daemon.server import Server
from kpd.daemon.sources import Sources
from kpd.daemon.store import EventStore
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.fold import fold_all
from kpd.model.state import State
from kpd.model.status import STEPS
from kpd.subscription import Live
from kpd.workspace.paths import Workspace

EVENTS_A_SECOND, OUTPUT_A_SECOND = 1000, 2_000_000
TICK_S = 0.01
DEMO_SPEEDS, DEMO_S = (1, 2, 8), 40
"""By itself it is played at the second."""
LINE = "ptxas info : Used 40 registers, used 1 barriers, 16896 bytes smem, 384 bytes cmem[0]"
OUTPUT = (LINE + "\n") * (OUTPUT_A_SECOND // 100 // (len(LINE) + 1))
PRESSES = ((b"6", b"[Log]"), (b"2", b"[Metrics]"), (b"7", b"[Hosts]"), (b"1", b"[Overview]"))
"""Keys, and the mark that only the tab bears that they open."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=30.0, help="of keys under load")
    parser.add_argument("--hour", type=int, default=3600, help="seconds of load to simulate")
    parser.add_argument("--do", choices=("serve", "hour"), help=argparse.SUPPRESS)
    parser.add_argument("--root", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.do == "serve":
        asyncio.run(serve(args.root))
    elif args.do == "hour":
        sys.stdout.write(json.dumps(asyncio.run(hour(args.hour))) + "\n")
    else:
        sys.stdout.write(json.dumps(measure(args.iterations, args.seconds, args.hour), indent=2) + "\n")


def measure(iterations: int, seconds: float, hour_s: int) -> dict[str, Any]:
    found: dict[str, Any] = {"size": f"{COLUMNS}x{ROWS}", "iterations": iterations, "cpus": os.cpu_count()}
    with tempfile.TemporaryDirectory(prefix="kpd-bench-") as root:
        workspace = Workspace(Path(root).resolve())
        for folder in ("tasks", "skills", "memory"):
            (workspace.root / folder).mkdir()
        workspace.config.touch()
        workspace.make_private()
        write_log(workspace.store, iterations)
        serving = [sys.executable, __file__, "--do", "serve", "--root", root]
        with subprocess.Popen(serving, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as daemon:
            assert daemon.stdin is not None
            assert daemon.stdout is not None
            daemon.stdout.readline()
            found["attach_ms"] = attach(root, iterations)
            found["idle_bytes"] = idle(root, iterations)
            daemon.stdin.write(b"flood\n")
            daemon.stdin.flush()
            found["under_load"] = under_load(root, iterations, seconds)
            found["bytes_a_second_under_load"] = {
                "usual": poured(root, iterations), "low_bandwidth": poured(root, iterations, "--low-bandwidth"),
            }  # fmt: skip
            daemon.stdin.close()
    found["demo_bytes_a_second"] = demo()
    simulated = [sys.executable, __file__, "--do", "hour", "--hour", str(hour_s)]
    found["hour"] = json.loads(subprocess.run(simulated, capture_output=True, text=True, check=True).stdout)
    return found


def attach(root: str, iterations: int) -> dict[str, float]:
    """From starting the process until the newest iteration shows."""
    took = []
    for _ in range(5):
        begun = time.perf_counter()
        with terminal(ui_command(root)) as ui:
            ui.until(newest_run(iterations), 20)
            took.append(1000 * (time.perf_counter() - begun))
    return {"median": round(median(took)), "worst": round(max(took))}


def idle(root: str, iterations: int) -> int:
    """What is written within ten seconds in which nothing happens."""
    with terminal(ui_command(root)) as ui:
        ui.until(newest_run(iterations), 20)
        ui.count(3)
        return ui.count(10)


def poured(root: str, iterations: int, *options: str) -> dict[str, int]:
    """What each of two tabs writes to the terminal while news pours in."""
    found = {}
    with terminal([*ui_command(root), *options]) as ui:
        ui.until(newest_run(iterations), 20)
        for tab, key in (("overview", b"1"), ("log", b"6")):
            ui.type(key)
            ui.count(3)
            found[tab] = round(ui.count(10) / 10)
    return found


def demo() -> dict[str, Any]:
    """What a run that is going on writes, second by second: the recorded one, at each of DEMO_SPEEDS."""
    found: dict[str, Any] = {}
    for speed in DEMO_SPEEDS:
        with terminal(["-m", "kpd.cli.main", "demo", "--speed", str(speed)]) as ui:
            ui.until(b"recording", 20)
            ui.count(3)
            written = [ui.count(1) for _ in range(DEMO_S)]
        found[f"{speed}x"] = {"seconds": DEMO_S, "median": round(median(written)), "worst": max(written)}
    return found


def under_load(root: str, iterations: int, seconds: float) -> dict[str, Any]:
    with terminal(ui_command(root)) as ui:
        ui.until(newest_run(iterations), 20)
        ui.count(3)
        took: list[float] = []
        end = time.monotonic() + seconds
        for key, text in itertools.cycle(PRESSES):
            if time.monotonic() > end and len(took) % len(PRESSES) == 0:
                break
            took.append(press(ui, key, text))
        rss = psutil.Process(ui.child).memory_info().rss / 1e6
    cuts = quantiles(took, n=20)
    return {
        "events_a_second": EVENTS_A_SECOND, "output_bytes_a_second": OUTPUT_A_SECOND, "presses": len(took),
        "key_to_paint_ms": {"median": round(median(took), 1), "p95": round(cuts[18], 1), "worst": round(max(took), 1)},
        "rss_mb": round(rss, 1),
    }  # fmt: skip


def press(ui: Terminal, key: bytes, text: bytes) -> float:
    """Milliseconds until the key's screen has come."""
    time.sleep(0.1)
    while ui.read(0):
        continue
    begun = time.perf_counter()
    ui.type(key)
    ui.until(text, 20)
    return 1000 * (time.perf_counter() - begun)


def newest_run(iterations: int) -> bytes:
    return f"r{(iterations - 1) // ITERATIONS_A_RUN + 2}".encode()


# ── the UI, as the measured process ───────────────────────────────────────────────────────────────────────────────


def ui_command(root: str) -> list[str]:
    return ["-m", "kpd.cli.main", "-w", root, "attach"]


async def hour(seconds: int) -> dict[str, Any]:
    """Memory of the UI while the messages of so many seconds come in."""
    from tui.app import KpdApp

    facts = [*begun_run(), e.IterationStarted("r1", 0, "baseline", 0)]
    state = fold_all([e.Event(seq, 1.7e9 + seq, fact) for seq, fact in enumerate(facts, 1)])
    messages = seconds * (EVENTS_A_SECOND + 100)
    feed = Flood(state, messages)

    async def connect() -> Flood:
        await asyncio.sleep(0)
        return feed

    app = KpdApp(connect, "kernels")
    memory, process = [], psutil.Process()
    begun = time.perf_counter()
    async with app.run_test(size=(COLUMNS, ROWS)) as pilot:
        await pilot.press("6")
        for tenth in range(1, 11):
            await feed.tenths[tenth].wait()
            memory.append(round(process.memory_info().rss / 1e6, 1))
    return {
        "simulated_s": seconds, "messages": messages, "took_s": round(time.perf_counter() - begun),
        "rss_mb_at_each_tenth": memory,
    }  # fmt: skip


class Flood:
    """A feed of one live run: its steps over and over, and their output."""

    def __init__(self, state: State, messages: int) -> None:
        self.state = state
        self.most = messages
        self.sent = 0
        self.tenths = [asyncio.Event() for _ in range(11)]

    async def messages(self, after: int = 0) -> AsyncIterator[Any]:
        yield self.state
        seq = self.state.seq
        while self.sent < self.most:
            for step in STEPS:
                seq += 1
                yield e.Event(seq, 1.7e9 + seq / EVENTS_A_SECOND, e.StepStarted("r1", 0, step))
            yield Live("job", "r1", 0, OUTPUT)
            self.sent += len(STEPS) + 1
            self.tenths[min(10, 10 * self.sent // self.most)].set()
            if self.sent % 110 == 0:
                await asyncio.sleep(0)
        await asyncio.Event().wait()

    async def query(self, what: str, **args: Any) -> Any:
        return [] if what in ("events", "rules") else {}

    async def command(self, verb: str, **args: Any) -> Any:
        return {}

    async def close(self) -> None:
        """Nothing is held."""


# ── the daemon's end ──────────────────────────────────────────────────────────────────────────────────────────────


async def serve(root: Path) -> None:
    """Serve the log; from the first line of stdin until its end, pour."""
    workspace = Workspace(root)
    journal = EventJournal(EventStore(workspace.store))
    last = max((int(run[1:]) for run in journal.state.runs), default=0)
    run = f"r{last + 1}"
    for fact in begun_run(run):
        journal.emit(fact)

    async def on_query(what: str, args: dict[str, Any]) -> Any:
        return await asyncio.to_thread(views.answer, what, args, Sources(journal.state, workspace))

    async def on_command(verb: str, args: dict[str, Any], by: str) -> None:
        raise ValueError(verb)

    async with Server(workspace.make_socket_folder(), journal, on_query, on_command):
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        if await asyncio.to_thread(sys.stdin.readline):
            over = asyncio.create_task(asyncio.to_thread(sys.stdin.readline))
            await pour(journal, run, over)
    journal.store.close()


async def pour(journal: EventJournal, run: str, over: "asyncio.Task[str]") -> None:
    """Iterations and output at their rates; what could not be sent in time is made up for."""
    begun, ticks = time.monotonic(), 0
    facts = (fact for number in itertools.count() for fact in whole_iteration(run, number))
    while not over.done():
        while ticks * TICK_S < time.monotonic() - begun:
            ticks += 1
            for fact in itertools.islice(facts, round(EVENTS_A_SECOND * TICK_S)):
                journal.emit(fact)
            journal.live("job", run, fact.iteration, OUTPUT)
        await asyncio.sleep(TICK_S)


def begun_run(run: str = "r1") -> list[e.Fact]:
    return [e.RunQueued(run, "rmsnorm_silu_cpu", "sweep", "local", Budget()), e.RunStarted(run, "cpu 1")]


if __name__ == "__main__":
    main()
