"""How a daemon ends, and what the next one makes of it: real signals to real processes."""

import asyncio
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kpd.client import DaemonError
from kpd.daemon.journal import EventJournal
from kpd.daemon.process import Daemon
from kpd.daemon.store import EventStore
from kpd.engine.control import Control, Interrupted
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.waits import LogTrouble, PausedBy
from kpd.text.notices import watchdog_notice
from kpd.workspace.config import Config, NotifyConfig
from kpd.workspace.paths import Workspace
from tests.places import ROOT
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.daemon.signals import said, send
from tests.support.daemon.unit_file import BadUnit, read_unit
from tests.support.hosts.local import until

__all__ = ["daemon", "workspace"]

UNIT = ROOT / "docs" / "kpd.service"
"""A daemon that proposes a baseline once the test says so: until then that step is under way, and waits for nobody."""


def test_a_daemon_without_work_ends_at_once(daemon: RealDaemon) -> None:
    daemon.start()
    with pytest.raises(DaemonError, match="shutdown takes no 'soon'"):
        daemon.command("shutdown", soon=True)
    send(daemon, signal.SIGTERM)
    assert daemon.wait() == 0
    assert "Traceback" not in daemon.output


def test_a_hangup_has_the_config_read_and_says_what_came_of_it(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    send(daemon, signal.SIGHUP)
    assert said(daemon, "config.toml was read again: nothing in it has changed")
    before = workspace.config.read_text()
    workspace.config.write_text("[notify]\nidle_minuets = 3\n")
    send(daemon, signal.SIGHUP)
    wrong = said(daemon, "idle_minuets")
    assert "config.toml:2" in wrong and wrong.endswith("the former settings stay in force")
    workspace.config.write_text(before)
    send(daemon, signal.SIGHUP)
    daemon.until(lambda: "idle_minuets" not in str(daemon.query("status")["notices"]), "the refusal goes")
    workspace.config.write_text('[notify]\nidle_minutes = 3\ncommand = ["true"]\n')
    send(daemon, signal.SIGHUP)
    assert said(daemon, "config.toml was read again: for the next run")


# ── one run's part in it ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[EventJournal]:
    with EventStore(tmp_path / "events.db") as store:
        yield EventJournal(store)


@pytest.fixture
def control(journal: EventJournal) -> Control:
    journal.emit(e.RunQueued("r1", "scale", "sweep", "local", Budget()))
    journal.emit(e.RunStarted("r1", "cpu"))
    return Control(journal, "r1")


async def test_what_waits_between_steps_is_over_when_the_daemon_ends(control: Control) -> None:
    waiting = asyncio.create_task(control.wait_until(lambda: False))
    await asyncio.sleep(0)
    control.finish()
    with pytest.raises(Interrupted, match="shutdown"):
        await waiting
    with pytest.raises(Interrupted, match="shutdown"):
        await control.checkpoint()


async def test_a_step_may_still_ask_while_the_daemon_ends_unless_it_is_paused(
    control: Control, journal: EventJournal
) -> None:
    with control.step():
        control.finish()
        await control.ready()
        journal.emit(e.RunPaused("r1", PausedBy("ada")))
        with pytest.raises(Interrupted, match="shutdown"):
            await control.ready()


async def test_to_skip_or_stop_a_step_goes_before_its_end(control: Control) -> None:
    async def step() -> None:
        with control.step():
            await asyncio.Event().wait()

    running = asyncio.create_task(control.run(step()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    control.finish()
    control.interrupt("skip", "ada")
    with pytest.raises(Interrupted, match="ada"):
        await running
    with pytest.raises(Interrupted, match="shutdown"):
        await control.checkpoint()


# ── who is told ───────────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_command_runs_once_for_each_time_that_somebody_is_needed(
    tmp_path: Path, journal: EventJournal
) -> None:
    heard = tmp_path / "heard"
    script = ("sh", "-c", f'echo "$KPD_TEXT" >> {heard}')
    (tmp_path / "ws").mkdir()
    daemon = Daemon(Workspace(tmp_path / "ws"), Config(notify=NotifyConfig(script)), journal)

    def lines() -> list[str]:
        return sorted(heard.read_text().splitlines()) if heard.exists() else []

    async def told(*texts: str) -> None:
        await until(lambda: len(lines()) >= len(texts))
        assert lines() == sorted(texts)

    full = "the queue waits for you: no space left; then resume"
    for _ in range(3):
        journal.suspend(LogTrouble("no space left"))
    await told(full)
    journal.emit(e.QueueReleased("ada"))
    journal.suspend(LogTrouble("no space left"))
    await told(full, full)
    journal.emit(e.RunQueued("r1", "scale", "sweep", "local", Budget()))
    stalled = e.StepStalled("r1", 3, "time", 900.0)
    journal.emit(stalled)
    await told(full, full, watchdog_notice(stalled))
    assert daemon.engine.config.notify.command == script


# ── systemd ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_unit_is_one_that_systemd_takes(tmp_path: Path) -> None:
    unit = read_unit(UNIT.read_text())
    assert unit["Service"]["Type"] == "notify"
    assert unit["Service"]["ExecReload"] == "/bin/kill -HUP $MAINPID"
    assert unit["Service"]["KillMode"] == "mixed", "the daemon ends its jobs itself, and only when it must"
    if (systemd := shutil.which("systemd-analyze")) is not None:
        shutil.copy(UNIT, tmp_path)
        command = [systemd, "verify", "--user", "--man=no", str(tmp_path / UNIT.name)]
        env = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
        done = subprocess.run(command, capture_output=True, text=True, env=env)
        assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Type=notify\n", "before any section"),
        ("[Unit]\nDescription=a\nDescription=b\n", "twice"),
        ("[Service]\nTypo=notify\n", "Typo"),
        ("[Services]\n", "Services"),
        ("[Service]\nType notify\n", "line 2"),
        ("[Unit]\nDescription=a\n[Service]\nType=notify\n", "ExecStart"),
    ],
)
def test_a_wrong_unit_is_seen(text: str, wrong: str) -> None:
    with pytest.raises(BadUnit, match=wrong):
        read_unit(text)
