"""A scheduler that kpd knows nothing of: examples/kpd-tickets, installed as any package is, lends what runs work on."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kpd.workspace.paths import Workspace
from tests.places import ROOT
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.e2e.dying import nothing_twice
from tests.support.e2e.hosts import card
from tests.support.e2e.told import last, told_times
from tests.support.hosts.container import has_containers

__all__ = ["daemon", "told_times", "workspace"]

TABLE = """
[hosts.pool]
transport = "tickets"
queue = "{queue}"
time = "30m"
max_allocations = 2
python = "{python}"
root = "{place}/lent"
leases = "{place}/leases"
"""


class Queue:
    """The folder of the scheduler."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def tickets(self) -> dict[str, dict[str, Any]]:
        """Return the states of kpd's tickets that wait or run, by the names of their hosts."""
        paths = list(self.folder.glob("kpd-*.ask"))
        found = {path.stem.split("-", 2)[2]: path.with_suffix(".state") for path in paths}
        return {host: json.loads(path.read_text()) if path.exists() else {} for host, path in found.items()}

    def order(self, order: str, host: str) -> None:
        """Give the scheduler an order about the ticket of a host of kpd."""
        (ask,) = self.folder.glob(f"kpd-*-{host}.ask")
        ask.with_suffix(f".{order}").touch()

    def occupy(self) -> None:
        """Take the machine by the ticket of somebody else."""
        written = self.folder / "other.tmp"
        written.write_text('{"time_s": 600, "abandon_s": 600}')
        written.rename(self.folder / "other.ask")

    def leave(self) -> None:
        (self.folder / "other.cancel").touch()


@pytest.fixture
def queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Queue]:
    """One machine for all tickets, and the package where daemons find it."""
    site = tmp_path / "site"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index", "--no-deps")
    package = str(ROOT / "examples" / "kpd-tickets")
    subprocess.run((*pip, "--no-build-isolation", "--target", str(site), package), check=True)
    monkeypatch.setenv("PYTHONPATH", str(site))
    with (
        tempfile.TemporaryDirectory(dir="/tmp", prefix="queue") as folder,  # short enough for a socket
        subprocess.Popen((sys.executable, "-m", "kpd_tickets.scheduler", folder, "1")) as scheduler,
    ):
        yield Queue(Path(folder))
        scheduler.terminate()
        scheduler.wait()


def running(queue: Queue) -> list[str]:
    """Return the hosts whose tickets run."""
    return [host for host, state in queue.tickets().items() if state.get("state") == "running"]


@has_containers
@pytest.mark.usefixtures("told_times")
def test_a_run_works_through_a_scheduler_that_is_a_package_of_somebody_else(
    daemon: RealDaemon, workspace: Workspace, queue: Queue
) -> None:
    (workspace.root / "config.toml").write_text(
        TABLE.format(queue=queue.folder, place=workspace.root.parent, python=sys.executable)
    )
    last(workspace, 0.2)
    queue.occupy()
    daemon.start()
    daemon.command("run", task="scale", host="pool", devices="all", iterations=2, min_gain_pct=95.0)
    daemon.until(lambda: set(queue.tickets()) == {"pool", "pool.2"}, "all that it has work for to be asked for")
    daemon.until(lambda: "1 of 1 slots are taken" in str(daemon.events("run_waits")), "the scheduler's reason")
    daemon.kill()
    daemon.start()
    daemon.command("resume")
    queue.leave()

    daemon.until_event("step_started", iteration=1, step="time")
    (first,) = running(queue)
    queue.order("preempt", first)
    daemon.until(lambda: [host for host in running(queue) if host != first], "the other ticket to begin")
    assert daemon.until_event("run_ended")["body"]["outcome"] == "no_gain"
    assert not daemon.events("run_paused")
    nothing_twice(daemon)

    assert set(queue.tickets()) == {"pool", "pool.2"}, "idle, and pending: both are kept for the next run"
    (left,) = running(queue)  # the other one, unless that has ended as well since
    queue.order("cancel", left)
    daemon.until(lambda: not queue.tickets(), "what begins then to go back at once, as nothing is left to do")
    daemon.until(lambda: {card(daemon, name)["trouble"] for name in ("pool", "pool.2")} == {"released"}, "the cards")

    queue.occupy()
    daemon.command("run", task="scale", host="pool", iterations=1)
    daemon.until(queue.tickets, "the next one to be asked for")
    daemon.kill()
    daemon.start()
    daemon.command("stop", run="r2")
    daemon.command("resume")
    daemon.until(lambda: not queue.tickets(), "what a killed daemon has asked for, and no run needs, to go back")
