"""What the operator takes along: copies by OSC 52, a picture, a folder in the desktop's file manager."""

import time
from pathlib import Path

import pytest

from kpd.model import events as e
from kpd.model.playback import Playback
from kpd.subscription import DaemonError
from tests.support.patience import PATIENCE_S
from tests.support.tui import logs
from tests.support.tui.feed import DIFF, KERNEL, CannedFeed, app_on, settled
from tui.app import KpdApp
from tui.copying import MOST_COPIED


def here(workspace: Path) -> logs.Log:
    """A log of a workspace that is on this machine, its run's folder included."""
    (workspace / "runs" / logs.TASK / "r1" / "iter_0005").mkdir(parents=True)
    return logs.some().emit(e.DaemonStarted("0.1.0", 4711, str(workspace)))


async def after(
    log: logs.Log, *keys: str, size: tuple[int, int] = (80, 24), feed: CannedFeed | None = None, elsewhere: str = ""
) -> KpdApp:
    app = app_on(feed or CannedFeed(log), elsewhere=elsewhere)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        for key in keys:
            await pilot.press(key)
            await settled(pilot)
    return app


def written(path: Path) -> str:
    """The text of a file, once another process has written it."""
    end = time.monotonic() + PATIENCE_S
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.02)
    return path.read_text()


def pictures(folder: Path) -> list[Path]:
    return list(folder.rglob("*.svg"))


def said(app: KpdApp) -> str:
    return app.view.said.text if app.view.said is not None else ""


async def test_the_diff_is_copied_as_it_would_be_applied() -> None:
    app = await after(logs.some(), "4", "ctrl+y")
    assert app.clipboard == DIFF
    assert "copied, if this terminal allows it" in said(app)


async def test_of_the_log_what_is_in_sight_is_copied_and_of_other_tabs_all() -> None:
    app = await after(logs.some(), "6", "ctrl+y", size=(100, 14))
    lines = app.clipboard.splitlines()
    assert 1 < len(lines) <= 12
    assert any("rejected" in line for line in lines), "the newest is in sight"
    app = await after(logs.some(), "3", "ctrl+y", size=(80, 14))
    assert len(app.clipboard.splitlines()) > 12
    assert "far_below_bandwidth" in app.clipboard


async def test_the_kernel_is_copied_or_the_reason_is_given() -> None:
    feed = CannedFeed(logs.some())
    app = await after(logs.some(), "ctrl+k", feed=feed)
    assert app.clipboard == KERNEL
    assert said(app).endswith("kernel.c of r1.5, 4 lines")
    assert ("file", {"iteration": "r1.5", "name": "candidate/kernel.c"}) in feed.queries
    feed = CannedFeed(logs.some(), {"file": DaemonError("unknown", "there is no candidate/kernel.c")})
    assert said(await after(logs.some(), "ctrl+k", feed=feed)) == "copy kernel: there is no candidate/kernel.c"


async def test_what_is_too_long_for_a_terminal_is_copied_up_to_a_whole_line(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "x" * 63 + "\n"
    monkeypatch.setattr("tests.support.tui.feed.KERNEL", line * 2_000)
    app = await after(logs.some(), "ctrl+k")
    assert app.clipboard == line * (MOST_COPIED // 64)
    assert "the first 768 of 2,000 lines" in said(app)


async def test_a_screenshot_goes_to_the_runs_folder_or_to_where_kpd_was_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    app = await after(here(tmp_path / "ws"), "2", "ctrl+s")
    [picture] = (tmp_path / "ws" / "runs" / logs.TASK / "r1").glob("*.svg")
    assert picture.name.startswith("kpd-r1.5-metrics-")
    assert "<svg" in picture.read_text()
    assert said(app) == f"kept as {picture}"
    app = await after(logs.some(), "ctrl+s")
    [picture] = elsewhere.glob("*.svg")
    assert said(app) == f"kept as {picture}"
    picture.unlink()
    elsewhere.rmdir()
    assert "cannot be written" in said(await after(logs.some(), "ctrl+s"))


@pytest.mark.parametrize("elsewhere", ["op@gpu3", ""])
async def test_a_picture_goes_to_no_folder_that_only_is_called_as_the_runs_is_or_that_does_not_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elsewhere: str
) -> None:
    monkeypatch.chdir(tmp_path)
    log = here(tmp_path / "ws")
    if not elsewhere:
        log.emit(e.PlaybackChanged(Playback("NVIDIA H100", "2026-11-21", 0.0, 60.0, 1, "playing")))
    app = await after(log, "ctrl+s", elsewhere=elsewhere)
    [picture] = pictures(tmp_path)
    assert picture.parent == tmp_path
    assert said(app) == f"kept as {picture}"


async def test_a_folder_on_another_machine_is_not_looked_for_on_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.copying._opener", lambda: "/bin/false")
    app = await after(here(tmp_path / "ws"), "E", elsewhere="op@gpu3")
    folder = str(tmp_path / "ws" / "runs" / logs.TASK / "r1" / "iter_0005")
    assert app.clipboard == folder
    told = "the folder is on op@gpu3, not on this machine; copied, if this terminal allows it: "
    assert said(app) == f"{told}{folder}"


@pytest.mark.parametrize("desktop", [True, False])
async def test_a_folder_is_opened_where_there_is_a_desktop_and_its_path_copied_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, desktop: bool
) -> None:
    opener, opened = tmp_path / "xdg-open", tmp_path / "opened"
    opener.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}.part && mv {opened}.part {opened}\n')
    opener.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    if not desktop:
        monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 5000 10.0.0.2 22")
    app = await after(here(tmp_path / "ws"), "E")
    folder = str(tmp_path / "ws" / "runs" / logs.TASK / "r1" / "iter_0005")
    if desktop:
        assert written(opened) == folder
        assert said(app) == f"opened: {folder}"
    else:
        assert not opened.exists()
        assert app.clipboard == folder
        assert "no desktop here" in said(app)
