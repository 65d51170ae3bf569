"""`kpd demo` as processes: what it says, what other verbs make of it, and that nothing of it stays behind."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

from kpd.client import ask
from kpd.demo.recording import save
from kpd.workspace.paths import Workspace
from tests.support.daemon.forked import run_kpd
from tests.support.demo.recordings import canned, short_tmp
from tests.support.patience import PATIENCE_S

__all__ = ["short_tmp"]

KPD = (sys.executable, "-m", "kpd.cli.main")
PARENT = """
import sys, time
from pathlib import Path
from kpd.cli.demo import played
with played(Path(sys.argv[1]), 1) as workspace:
    print(workspace.root, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    save(canned(), tmp_path / "canned.tar.xz")
    return tmp_path / "canned.tar.xz"


class Processes:
    def __init__(self) -> None:
        self.all: list[subprocess.Popen[str]] = []

    def start(self, *command: object) -> tuple[subprocess.Popen[str], Workspace]:
        """The process, and the workspace that its first line names."""
        child = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.all.append(child)
        line = pipe(child.stdout).readline().strip()
        return child, Workspace(Path(json.loads(line)["workspace"] if line.startswith("{") else line))


@pytest.fixture
def processes(short_tmp: Path) -> Iterator[Processes]:
    found = Processes()
    yield found
    for child in found.all:
        child.kill()
        child.wait()
        for end in (child.stdin, child.stdout, child.stderr):
            pipe(end).close()


def pipe(end: IO[str] | None) -> IO[str]:
    assert end is not None
    return end


def until(ready: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not ready():
        assert time.monotonic() < deadline, f"waited {PATIENCE_S:.0f} s for {what}"
        time.sleep(0.02)


def left(folder: Path) -> list[str]:
    """All that is in the folder for temporary files but empty folders of sockets."""
    # Not rglob, which fails when a folder goes while it looks.
    names = (Path(at, name) for at, folders, files in os.walk(folder) for name in (*folders, *files))
    return sorted(str(path) for path in names if path.name not in ("run", "kpd-v1"))


def kpd(*words: object) -> subprocess.CompletedProcess[str]:
    return run_kpd(*map(str, words), env=os.environ)


def test_it_ends_with_the_screen_that_it_plays_for(processes: Processes, recording: Path, short_tmp: Path) -> None:
    child, ws = processes.start(sys.executable, "-m", "kpd.demo.process", recording)
    assert ask(ws.socket, "query", "status")["workspace"] == str(ws.root)
    pipe(child.stdin).close()
    assert child.wait(PATIENCE_S) == 0
    assert left(short_tmp) == []


def test_nothing_stays_when_the_screen_is_killed(processes: Processes, recording: Path, short_tmp: Path) -> None:
    parent, ws = processes.start(sys.executable, "-c", PARENT, recording)
    assert ws.store.exists()
    parent.send_signal(signal.SIGKILL)
    until(lambda: left(short_tmp) == [], "the player to clear up")


def test_two_play_side_by_side(processes: Processes, recording: Path, short_tmp: Path) -> None:
    players = [processes.start(sys.executable, "-m", "kpd.demo.process", recording, 1) for _ in range(2)]
    (one, first), (_, second) = players
    assert first.root != second.root
    ask(first.socket, "command", "playback", {"to": "iteration"})
    assert list(ask(first.socket, "query", "status")["runs"]) == ["r1"]
    pipe(one.stdin).close()
    one.wait(PATIENCE_S)
    assert ask(second.socket, "query", "status")["pid"] is not None


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_headless_it_plays_until_it_is_told_to_end(
    processes: Processes, recording: Path, short_tmp: Path, how: signal.Signals
) -> None:
    child, _ = processes.start(*KPD, "demo", "--headless", "--recording", recording)
    child.send_signal(how)
    assert child.wait(PATIENCE_S) == 0
    assert "kpd attach -w" in pipe(child.stderr).read()
    assert left(short_tmp) == []


def test_other_verbs_read_it_and_change_nothing(processes: Processes, recording: Path) -> None:
    _, ws = processes.start(*KPD, "demo", "--headless", "--recording", recording, "--speed", "1")
    for _ in range(2):
        ask(ws.socket, "command", "playback", {"to": "iteration"})
    assert "recording · NVIDIA H100 80GB HBM3 · 2026-11-21" in kpd("-w", ws.root, "status").stdout.splitlines()[0]
    assert "r1.1" in kpd("-w", ws.root, "log").stdout
    assert "+// tiled" in kpd("-w", ws.root, "diff", "r1.1").stdout
    assert "NVIDIA H100" in kpd("-w", ws.root, "hosts").stdout
    assert "▶ recording" in kpd("-w", ws.root, "queue").stderr
    looked = kpd("-w", ws.root, "doctor").stdout
    assert "none was looked at: this is a recording" in looked and "config.toml" in looked
    refused = kpd("-w", ws.root, "stop")
    assert refused.returncode == 1
    assert "this is a recording (NVIDIA H100 80GB HBM3, 2026-11-21)" in refused.stderr


@pytest.mark.parametrize("options", [("--headless",), ()])
def test_without_a_recording_it_says_so(tmp_path: Path, short_tmp: Path, options: tuple[str, ...]) -> None:
    found = kpd("demo", *options, "--recording", tmp_path / "none.tar.xz")
    assert found.returncode != 0
    assert "Traceback" not in found.stderr
    assert found.stderr.count("\n") == 1
    assert left(short_tmp) == []


def test_the_ui_needs_a_terminal(recording: Path) -> None:
    found = kpd("demo", "--recording", recording)
    assert found.returncode == 64
    assert "needs a terminal" in found.stderr
    assert "--headless" in found.stderr


def test_a_speed_is_one_of_those_there_are(recording: Path) -> None:
    assert kpd("demo", "--headless", "--speed", "3", "--recording", recording).returncode == 64


def test_a_player_that_cannot_begin_says_why(tmp_path: Path, short_tmp: Path) -> None:
    child = subprocess.run(
        [sys.executable, "-m", "kpd.demo.process", str(tmp_path / "none")],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        stdin=subprocess.DEVNULL,
    )
    assert child.returncode == 1
    assert "No such file" in json.loads(child.stdout)["error"]
