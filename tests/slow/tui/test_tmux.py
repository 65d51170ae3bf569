"""The cockpit as its users have it: a real daemon and the real UI in tmux, watched, steered, killed and found again.

What the screen says is compared with what the daemon has, and with what is on disk.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kpd.client import DaemonError, ask
from kpd.workspace.paths import Workspace
from tests.places import ROOT
from tests.support.daemon.real_daemon import TASKS, leftovers, workspace
from tests.support.patience import PATIENCE_S

__all__ = ["workspace"]

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux: apt-get install tmux")


class Tmux:
    """One pane of a server of its own, in which a shell runs."""

    def __init__(self, folder: Path, columns: int, rows: int) -> None:
        self._socket = str(folder / "tmux")
        size = ("-x", str(columns), "-y", str(rows))
        shell = ("env", "-u", "COLUMNS", "-u", "LINES", "PS1=shell> ", "TERM=tmux-256color", "sh")
        self._do("-f", "/dev/null", "new-session", "-d", *size, *shell)

    def _do(self, *words: str) -> str:
        done = subprocess.run(["tmux", "-S", self._socket, *words], capture_output=True, text=True, check=True)
        return done.stdout

    @property
    def screen(self) -> str:
        return self._do("capture-pane", "-p")

    def press(self, *keys: str) -> None:
        self._do("send-keys", *keys)

    def type(self, text: str) -> None:
        self._do("send-keys", "-l", text)

    def run(self, command: str) -> None:
        self.type(command)
        self.press("Enter")

    def until(self, wanted: str) -> str:
        """The screen, once the pattern is on it."""
        screen = ""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            screen = self.screen
            if re.search(wanted, screen):
                return screen
            time.sleep(0.1)
        raise AssertionError(f"{wanted!r} is not on the screen:\n{screen}")

    def close(self) -> None:
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], capture_output=True, check=False)


@pytest.fixture(name="pane")
def _pane(tmp_path: Path, workspace: Workspace) -> Iterator[Tmux]:
    task = workspace.tasks / "scale" / "task.toml"
    longer = {
        "[8, 1]": "[64, 1, 62, 58, 54, 50, 46, 42, 38, 34]",
        "quads = 4": "quads = 60",
        "tience = 2": "tience = 9",
    }
    for short, long in longer.items():
        task.write_text(task.read_text().replace(short, long))
    pane = Tmux(tmp_path, 120, 36)
    yield pane
    pane.close()
    for process in leftovers(workspace):
        process.kill()


def until(ready: Callable[[], Any], what: str) -> Any:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if found := ready():
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited {PATIENCE_S:.0f} s for {what}")


def query(workspace: Workspace, what: str, **args: Any) -> Any:
    try:
        return ask(workspace.socket, "query", what, args)
    except DaemonError:
        return None


def the_run(workspace: Workspace) -> Any:
    return query(workspace, "show", iteration="r1.0")["run"]


def test_a_day_at_the_cockpit(pane: Tmux, workspace: Workspace) -> None:
    kpd = f"{sys.executable} -m kpd.cli.main -w {workspace.root}"
    pane.run(f"cd {ROOT}; {kpd} start scale --iterations 9")
    pane.until(r"★ +\d+ ▲ +\d[\d.]*×")
    pane.press("p")
    pane.until("paused by")
    until(lambda: the_run(workspace)["status"] == "paused", "the pause")

    pane.press("s")
    pane.until("Steer r1")
    pane.type("leave REPEAT at 1; the rest is known")
    pane.press("Enter")
    pane.until("queued")
    pane.press("Escape")
    until(lambda: "Steer r1" not in pane.screen, "the notes to close")
    (note,) = the_run(workspace)["steering"]
    assert note["text"] == "leave REPEAT at 1; the rest is known"
    accepted = the_run(workspace)["incumbent"]
    assert accepted > 0
    pane.press("h")
    for _ in range(12):
        if re.search(r"▕ r1\.0\b", pane.screen):
            break
        pane.press("Down")
        time.sleep(0.3)
    pane.until(r"▕ r1\.0\b")
    pane.press("b")
    pane.until("Roll r1 back to iteration 0")
    pane.press("y")
    pane.until("r1.0 is the incumbent again")
    until(lambda: the_run(workspace)["incumbent"] == 0, "the baseline to be the incumbent")
    kernel = (workspace.tasks / "scale" / "kernel.c").read_bytes()
    assert kernel == (TASKS / "scale" / "kernel.c").read_bytes(), "the task folder shows the incumbent"

    pane.press("q")
    pane.until("detached: the daemon goes on")
    pid = query(workspace, "status")["pid"]
    before = query(workspace, "log", limit=10_000)
    os.kill(pid, signal.SIGKILL)
    pane.run("clear")
    pane.run(f"{kpd} attach")
    pane.until("no daemon")
    pane.run("clear")
    pane.run(f"{kpd} start")
    pane.until(r"held: the daemon crashed or was killed (in|after|before) .*r1\.\d")
    after = query(workspace, "log", limit=10_000)
    assert after[: len(before)] == before, "nothing is lost, nothing is rewritten"
    assert the_run(workspace)["incumbent"] == 0
    assert [one["text"] for one in the_run(workspace)["steering"]] == [note["text"]]
    pane.press("q")
    pane.until("detached")
    pane.run(f"{kpd} shutdown --now")
    until(lambda: query(workspace, "status") is None, "the daemon to end")
