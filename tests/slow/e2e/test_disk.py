"""A disk that fills up and a folder that cannot be written: the run waits with the reason, the log stays readable."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kpd.workspace.paths import Workspace
from tests.support.daemon.forked import Running
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace

__all__ = ["daemon", "workspace"]

IN_A_SMALL_FILESYSTEM = """
import os, subprocess, sys
root, seed, signals = sys.argv[1:]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", root], check=True)
subprocess.run(["cp", "-a", seed + "/.", root], check=True)
subprocess.Popen(["sh", "-c", '''
    while [ ! -e "$1/fill" ]; do sleep 0.05; done
    dd if=/dev/zero of="$2/filler" bs=4k 2>/dev/null
    touch "$1/filled"
    while [ ! -e "$1/free" ]; do sleep 0.05; done
    rm "$2/filler"; touch "$1/freed"
''', "sh", signals, root])
os.execv(sys.executable, [sys.executable, "-m", "kpd.cli.main", "-w", root, "daemon"])
"""


def test_runs_that_cannot_be_written(daemon: RealDaemon, workspace: Workspace) -> None:
    workspace.runs.write_text("a file where the folder should be")
    daemon.start()
    daemon.command("run", task="scale", iterations=1)
    paused = daemon.until_event("run_paused")["body"]
    assert paused["by"] == "kpd"
    assert "infrastructure" in paused["reason"]
    assert str(workspace.runs) in paused["reason"]
    assert daemon.query("log", limit=10), "the log stays readable"
    workspace.runs.unlink()
    daemon.command("resume")
    assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"


class Small(RealDaemon):
    """The daemon in a mount namespace of its own, its workspace on 24 MB of tmpfs."""

    def __init__(self, workspace: Workspace, seed: Path, signals: Path) -> None:
        super().__init__(workspace)
        self.seed = seed
        self.signals = signals

    def launch(self, code: tuple[str, ...], env: dict[str, str], output: Path) -> Running:
        own = ["unshare", "--map-root-user", "--mount", sys.executable, "-c", IN_A_SMALL_FILESYSTEM]
        with output.open("ab") as file:
            words = [*own, str(self.workspace.root), str(self.seed), str(self.signals)]
            return subprocess.Popen(words, stdout=file, stderr=file, env=env)

    def signal(self, what: str, answer: str) -> None:
        (self.signals / what).touch()
        self.until((self.signals / answer).exists, answer)


@pytest.fixture
def small(tmp_path: Path, workspace: Workspace) -> Iterator[Small]:
    allowed = sys.platform == "linux" and shutil.which("unshare") is not None
    if not allowed or subprocess.run(["unshare", "--map-root-user", "--mount", "true"], check=False).returncode:
        pytest.skip("needs unshare --mount (Linux with user namespaces) for a small filesystem")
    seed, signals = tmp_path / "seed", tmp_path / "signals"
    shutil.copytree(workspace.root, seed, ignore=shutil.ignore_patterns(workspace.private.name))
    signals.mkdir()
    running = Small(workspace, seed, signals)
    yield running
    running.stop()


def test_a_full_disk(small: Small) -> None:
    small.start()
    small.command("run", task="scale", iterations=1)
    small.until_event("step_started", iteration=1, step="build")
    small.signal("fill", "filled")
    reason = small.until(lambda: waiting(small), "the run to wait")
    assert "space" in reason
    assert small.query("log", limit=10), "the log stays readable"
    assert small.query("show", iteration="r1.0")["iteration"]["outcome"] == "baseline"
    small.signal("free", "freed")
    small.command("resume")
    assert small.until(lambda: outcome(small), "the run to end") == "improved"
    events = small.events()
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))


def outcome(daemon: RealDaemon) -> str:
    """The run's. A job that the full disk has ended may be heard of only after the first `resume`: it pauses again."""
    if waiting(daemon):
        daemon.command("resume")
    return next((str(event["body"]["outcome"]) for event in daemon.events("run_ended")), "")


def waiting(daemon: RealDaemon) -> str:
    status = daemon.query("status")
    paused = [run["reason"] for run in status["runs"].values() if run["status"] == "paused"]
    return str(status["held"] or "".join(paused))
