"""The kernel in $EDITOR: a real program gets the text, and what it leaves is sent; in a real terminal, too."""

import fcntl
import json
import os
import pty
import re
import select
import shlex
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.drivers.headless_driver import HeadlessDriver
from textual.pilot import Pilot

from kpd.model import events as e
from kpd.subscription import DaemonError
from tests.support.patience import PATIENCE_S
from tests.support.tui import logs
from tests.support.tui.drawn import screen
from tests.support.tui.feed import KERNEL, CannedFeed, app_on, settled
from tui.app import KpdApp

FILES = {"kernel.c": KERNEL, "build.json": KERNEL}  # of every iteration
CHANGES = "import sys; path = sys.argv[-1]; text = open(path).read(); open(path, 'w').write(text.replace('2', '3'))"


@pytest.fixture(name="temporary", autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the texts to edit lie; Textual's driver without a screen can be left like any other."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setattr(HeadlessDriver, "can_suspend", True)
    monkeypatch.delenv("VISUAL", raising=False)
    yield folder


def editor(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    monkeypatch.setenv("EDITOR", shlex.join([sys.executable, "-c", program]))


async def after(feed: CannedFeed, *keys: str) -> KpdApp:
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *keys)
    return app


async def press(pilot: Pilot[Any], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await settled(pilot)


def left(temporary: Path) -> list[Path]:
    """The texts that were kept."""
    return [path for path in temporary.rglob("*") if path.is_file()]


def said(app: KpdApp) -> str:
    return app.view.said.text if app.view.said is not None else ""


async def test_what_the_editor_leaves_is_sent_and_the_file_thrown_away(
    monkeypatch: pytest.MonkeyPatch, temporary: Path
) -> None:
    editor(monkeypatch, CHANGES)
    feed = CannedFeed(logs.running())
    app = await after(feed, "e", "enter")
    assert ("file", {"iteration": "r1.4", "name": "candidate/kernel.c"}) in feed.queries, "r1.6 is still under way"
    assert feed.commands == [("edit", {"run": "r1", "files": {**FILES, "kernel.c": KERNEL.replace("2", "3")}})]
    assert said(app) == "your edit is in the task folder: r1 measures it next"
    assert left(temporary) == []


async def test_the_other_file_of_the_selected_iteration_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    editor(monkeypatch, CHANGES)
    feed = CannedFeed(logs.running())
    await after(feed, "down", "down", "down", "e", "down", "enter")
    assert ("file", {"iteration": "r1.3", "name": "candidate/build.json"}) in feed.queries
    changed = FILES["build.json"].replace("2", "3")
    assert feed.commands[0][1]["files"] == {**FILES, "build.json": changed}, "with the kernel of that iteration"


def with_area() -> logs.Log:
    """A run whose candidates may have files in a folder, and have one beside their kernel."""
    log = logs.running()
    log.emit(e.TaskLoaded(replace(log.state.tasks[logs.TASK], editable=("kernel.c",), areas=("src/",))))
    return log


async def test_where_a_candidate_may_have_more_files_one_can_be_added(
    monkeypatch: pytest.MonkeyPatch, temporary: Path
) -> None:
    editor(monkeypatch, "import sys; open(sys.argv[-1], 'w').write('int three;')")
    feed = CannedFeed(with_area())
    app = await after(feed, "e", "up", "down", "down", "down", "enter", *"src/a.h", "enter")
    assert feed.commands == [("edit", {"run": "r1", "files": {**FILES, "src/a.h": "int three;"}})], said(app)
    assert left(temporary) == []


async def test_and_one_that_the_task_has_not_can_be_removed() -> None:
    feed = CannedFeed(with_area())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("e")
        await settled(pilot)
        shown = screen(app)
        await pilot.press("down", "down", "enter")
        await settled(pilot)
    assert "remove build.json" in shown and "remove kernel.c" not in shown and "a new file" in shown
    assert feed.commands == [("edit", {"run": "r1", "files": {"kernel.c": KERNEL}, "removed": ("build.json",)})]


async def test_another_file_stays_as_it_is_where_it_is_no_text_or_known_not_to_be_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    editor(monkeypatch, CHANGES)
    other: list[str | DaemonError] = [
        "",
        "\N{REPLACEMENT CHARACTER}",
        DaemonError("unknown", "build.json is not there"),
    ]

    class Feed(CannedFeed):
        async def query(self, what: str, **args: Any) -> Any:
            answer = await super().query(what, **args)
            if args.get("name") != "candidate/build.json":
                return answer
            if isinstance(other[0], DaemonError):
                raise other[0]
            return {**answer, "text": other[0]}

    feed = Feed(logs.running())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        while other:
            feed.commands.clear()
            await press(pilot, "e", "enter")
            assert feed.commands[0][1]["files"] == {"kernel.c": KERNEL.replace("2", "3")}
            other.pop(0)
        other.append(DaemonError("infra", "build.json cannot be had"))
        feed.commands.clear()
        await press(pilot, "e", "enter")
    assert feed.commands == []
    assert said(app) == "edit: build.json cannot be had"


async def test_a_refused_edit_is_kept_and_its_path_told(monkeypatch: pytest.MonkeyPatch, temporary: Path) -> None:
    editor(monkeypatch, CHANGES)
    refuse = {"edit": DaemonError("refused", "the task folder holds an edit that waits", "have it measured first")}
    app = await after(CannedFeed(logs.running(), refuse), "e", "enter")
    [kept] = left(temporary)
    assert kept.name == "kernel.c"
    assert kept.read_text() == KERNEL.replace("2", "3")
    assert said(app).startswith("edit: the task folder holds an edit that waits")
    assert said(app).endswith(f"your text is in {kept}")


async def test_an_editor_that_fails_or_changes_nothing_sends_nothing_and_loses_nothing(
    monkeypatch: pytest.MonkeyPatch, temporary: Path
) -> None:
    feed = CannedFeed(logs.running())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        editor(monkeypatch, "")
        await press(pilot, "e", "enter")
        assert said(app) == "nothing was changed in kernel.c, so nothing is sent"
        editor(monkeypatch, "raise SystemExit(1)")
        await press(pilot, "e", "enter")
        assert said(app) == "nothing was changed in kernel.c (the editor ended with 1), so nothing is sent"
        assert app.view.said is not None and not app.view.said.good
        for wanted, why in (("no-such-editor", "cannot run no-such-editor"), ("'", "$EDITOR cannot be read")):
            monkeypatch.setenv("EDITOR", wanted)
            await press(pilot, "e", "enter")
            assert why in said(app)
        assert left(temporary) == []
        editor(monkeypatch, CHANGES + "; sys.exit(3)")
        await press(pilot, "e", "enter")
        [kept] = left(temporary)
        assert said(app) == f"edit: the editor ended with 3, so nothing is sent; your text is in {kept}"
        monkeypatch.setattr(HeadlessDriver, "can_suspend", False)
        await press(pilot, "e", "enter")
        assert said(app) == "edit: this terminal cannot be used for an editor"
    assert feed.commands == []


# ── in a terminal ─────────────────────────────────────────────────────────────────────────────────────────────────

APP = """
import json, sys
from tests.support.tui import logs
from tests.support.tui.drawn import screen
from tests.support.tui.feed import CannedFeed, app_on
feed = CannedFeed(logs.running())
app_on(feed).run()
print("commands", json.dumps(feed.commands))
"""
ASKS = """
import sys
path = sys.argv[-1]
text = open(path).read()
number = input("by how much? ")
open(path, "w").write(text.replace("2", number))
"""


class Terminal:
    """A process with a terminal of its own; what it has written so far is `seen`."""

    def __init__(self, command: list[str], env: dict[str, str]) -> None:
        self.seen = ""
        self._fd, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self._process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True
        )
        os.close(theirs)

    def type(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def until(self, wanted: str) -> str:
        """What came up to the first match of `wanted`, which is taken."""
        end = time.monotonic() + PATIENCE_S
        while (found := re.search(wanted, self.seen, re.DOTALL)) is None and time.monotonic() < end:
            if select.select([self._fd], [], [], 0.1)[0]:
                self.seen += os.read(self._fd, 65536).decode(errors="replace")
        assert found is not None, f"{wanted!r} never came: {self.seen[-2000:]!r}"
        self.seen = self.seen[found.end() :]
        return found[0]

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._fd)


@pytest.mark.skipif(sys.platform == "darwin", reason="a terminal there ends reads with EIO at other moments")
def test_the_terminal_is_lent_to_the_editor_and_comes_back(tmp_path: Path, temporary: Path) -> None:
    asks = tmp_path / "asks.py"
    asks.write_text(ASKS)
    env = {**os.environ, "EDITOR": f"{sys.executable} {asks}", "TERM": "xterm-256color", "TMPDIR": str(temporary)}
    terminal = Terminal([sys.executable, "-c", APP], env)
    try:
        terminal.until("r1.6")
        terminal.type("e")
        terminal.until("Edit which file")
        terminal.type("\r")
        terminal.until(r"\x1b\[\?1049l.*by how much\?")
        terminal.type("7\n")
        terminal.until(r"\x1b\[\?1049h.*measures it next")
        terminal.type("q")
        commands = json.loads(terminal.until(r"commands [^\r\n]*\r?\n").removeprefix("commands "))
    finally:
        terminal.close()
    assert commands == [["edit", {"run": "r1", "files": {**FILES, "kernel.c": KERNEL.replace("2", "7")}}]]
    assert left(temporary) == []
