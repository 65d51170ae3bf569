"""What the UI over SSH costs: the first view, an act, what is lost in a cut and how soon a dead link is a banner.

    python benchmarks/attach_ssh.py [repetitions]

Prints one JSON object; progress goes to stderr. The far machine is this one behind sshd on loopback, through a network
that adds 0 or 100 ms to a round trip; its daemon has a log of 1,000 iterations. Needs OpenSSH's sshd.
"""

import asyncio
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from terminal import terminal
from wire import write_log

from kpd.cli.remote_daemon import RemoteDaemon, remote_daemon
from kpd.client import DaemonError, ask
from kpd.workspace.paths import Workspace
from tests.support.hosts.local import until
from tests.support.hosts.remote_box import Box, box
from tests.support.hosts.slow_pipe import Proxy
from tests.support.tui.attached import Watched
from tui.model.feed import Feed, dialling

ADDED_MS = (0, 100)
ITERATIONS = 1_000
REPETITIONS = 7
ACTS = 30
IDLE_S = 20.0
OUTAGE_S, EVENTS_MISSED = 3.0, 10
FIRST_VIEW = b"Overview"
PATIENCE_S = 60.0


def delay(seconds: float) -> Callable[[Proxy], None]:
    def act(network: Proxy) -> None:
        network.delay_s = seconds

    return act


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else REPETITIONS
    with tempfile.TemporaryDirectory(prefix="kpd-bench-") as folder, box(Path(folder).resolve()) as far:
        os.environ["HOME"] = str(far.home)
        with served(Path(folder).resolve() / "kernels") as workspace:
            found: dict[str, Any] = {}
            for added in ADDED_MS:
                far.network(delay(added / 2000))
                found[f"+{added} ms"] = {
                    "first_view_s": first_view(workspace, repetitions),
                    **asyncio.run(linked(far, workspace, repetitions)),
                }
                print(f"+{added} ms: {found[f'+{added} ms']}", file=sys.stderr, flush=True)
    print(json.dumps({
        "machine": f"{platform.system()} {platform.machine()}, Python {sys.version.split()[0]}",
        "iterations": ITERATIONS,
        "repetitions": repetitions,
        "added_to_a_round_trip": found,
    }, indent=2))  # fmt: skip


@contextmanager
def served(root: Path) -> Iterator[Workspace]:
    """A daemon in a process of its own, on a log of many iterations."""
    workspace = Workspace(root)
    (root / "tasks").mkdir(parents=True)
    (root / "config.toml").touch()
    workspace.make_private()
    write_log(workspace.store, ITERATIONS)
    daemon = subprocess.Popen([sys.executable, "-m", "kpd.cli.main", "-w", str(root), "daemon"])
    try:
        while not answers(workspace):
            time.sleep(0.05)
        yield workspace
    finally:
        daemon.terminate()
        daemon.wait(PATIENCE_S)


def answers(workspace: Workspace) -> bool:
    try:
        ask(workspace.socket, "query", "status")
    except DaemonError:
        return False
    return True


def first_view(workspace: Workspace, repetitions: int) -> dict[str, float]:
    """From starting `kpd attach` to the first paint of the UI with what the daemon knows."""
    command = ["-m", "kpd.cli.main", "-w", str(workspace.root), "attach", "--ssh", "box"]
    took = []
    for _ in range(repetitions):
        begun = time.perf_counter()
        with terminal(command) as ui:
            ui.until(FIRST_VIEW, PATIENCE_S)
            ui.until(b"r10", PATIENCE_S)
            took.append(time.perf_counter() - begun)
    return summary(took)


async def linked(far: Box, workspace: Workspace, repetitions: int) -> dict[str, Any]:
    """What a UI that is up sees, without the painting."""
    async with remote_daemon("box", str(workspace.root)) as at, watched(at).going() as ui:
        acts = [await timed(lambda: ui.feed.command("memo", iteration="r1.1", text="noted")) for _ in range(ACTS)]
        before = far.network(lambda network: (network.passed, network.returned))
        await asyncio.sleep(IDLE_S)
        after = far.network(lambda network: (network.passed, network.returned))
        cuts: list[float] = []
        outages: list[float] = []
        frozen: list[float] = []
        for _ in range(repetitions):
            far.network(lambda network: network.cut())
            cuts.append(await timed(lambda: down_and_back(ui, workspace)))
            far.go_down()
            await ui.is_down()
            for _ in range(EVENTS_MISSED):
                await asyncio.to_thread(ask, workspace.socket, "command", "memo", {"iteration": "r1.1", "text": "away"})
            await asyncio.sleep(OUTAGE_S)
            far.come_back()
            outages.append(await timed(lambda: caught_up(ui, workspace)))
            far.network(lambda network: network.freeze())
            frozen.append(await timed(ui.is_down))
            far.network(lambda network: network.thaw())
            await caught_up(ui, workspace)
        return {
            "act_ms": {key: round(1000 * value, 1) for key, value in summary(acts).items()},
            "idle_bytes_a_second": {
                way: round((now - then) / IDLE_S) for way, then, now in zip(("to", "from"), before, after, strict=True)
            },
            "after_a_cut_s": summary(cuts),
            f"after_an_outage_of_{OUTAGE_S:g}_s": summary(outages),
            "frozen_to_banner_s": summary(frozen),
            "snapshots": len(ui.states),
            "events": len(ui.events),
            "events_lost": len(set(range(ui.states[0].seq + 1, ui.seq + 1)) - set(ui.events)),
            "events_twice": len(ui.events) - len(set(ui.events)),
        }


def watched(at: RemoteDaemon) -> Watched:
    dial = dialling(lambda: at.socket, explain=at.explain)

    async def connect() -> Feed:
        await at.linked()
        return await dial()

    return Watched(connect)


async def down_and_back(ui: Watched, workspace: Workspace) -> None:
    await ui.is_down()
    await caught_up(ui, workspace)


async def caught_up(ui: Watched, workspace: Workspace) -> None:
    """The link is up, and everything that the daemon has recorded has come."""
    latest = (await asyncio.to_thread(ask, workspace.socket, "query", "status"))["seq"]
    await until(lambda: ui.link.state == "up" and ui.seq >= latest)


async def timed(act: Callable[[], Awaitable[object]]) -> float:
    begun = time.perf_counter()
    await act()
    return time.perf_counter() - begun


def summary(took: list[float]) -> dict[str, float]:
    return {"median": round(median(took), 3), "worst": round(max(took), 3)}


if __name__ == "__main__":
    main()
