"""Recordings for the demo's tests: one that is made here of a canned log, and a player on it whose clock is given."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kpd.demo.playback_journal import temporary_workspace
from kpd.demo.player import Player
from kpd.demo.recording import FORMAT, Recording, RecordingInfo
from kpd.model import events as e
from tests.support.tui import gpu

TASK = gpu.TASK
FOLDER = f"runs/{TASK}/r1"
KERNELS = {0: b"// naive\nvoid transpose();\n", 1: b"// tiled\nvoid transpose();\n"}


def canned() -> Recording:
    """Two iterations on a GPU: the baseline, and one that was accepted."""
    log = gpu.transposed()
    of_run = [event for event in log.events if not isinstance(event.fact, e.DaemonStarted)]
    events = tuple(e.Event(seq, event.at, event.fact) for seq, event in enumerate(of_run, 1))
    files = {f"memory/{TASK}.md": b"# What was tried\n", f"{FOLDER}/report.md": b"improved\n"}
    for number, kernel in KERNELS.items():
        files[f"{FOLDER}/iter_{number:04d}/candidate/kernel.cu"] = kernel
        files[f"{FOLDER}/iter_{number:04d}/build.log"] = b"ptxas info: 32 registers\n"
        files[f"{FOLDER}/iter_{number:04d}/timing.json"] = b"{}"
    about = RecordingInfo(
        FORMAT, "0.1.0", "2026-11-21", gpu.H100.name, "550.54.15", "12.4", TASK, "r1", f"kpd run {TASK}"
    )
    return Recording(about, events, files)


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Played:
    """A player of the canned recording, and its clock."""

    def __init__(self, player: Player, clock: Clock) -> None:
        self.player = player
        self.clock = clock

    def after(self, seconds: float) -> float | None:
        self.clock.now += seconds
        return self.player.tick()

    def do(self, **args: object) -> dict[str, object]:
        return self.player.command("playback", dict(args))

    @property
    def facts(self) -> list[e.Fact]:
        """What has been said of the recording, without what the player says of itself."""
        own = (e.DaemonStarted, e.PlaybackChanged)
        return [event.fact for event in self.player.stage.events() if not isinstance(event.fact, own)]


@pytest.fixture
def played() -> Iterator[Played]:
    clock = Clock()
    with temporary_workspace() as workspace, Player(workspace, canned(), speed=1, clock=clock) as player:
        yield Played(player, clock)


@pytest.fixture
def short_tmp(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where temporary files go in this test alone: what is left there was left behind. A socket's path is short."""
    made = Path(tempfile.mkdtemp(prefix="kpd-t-", dir="/tmp"))
    monkeypatch.setenv("TMPDIR", str(made))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(made / "run"))
    (made / "run").mkdir()
    yield made
    shutil.rmtree(made)
