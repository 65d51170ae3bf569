"""When a deployment is begun, looked for again and given up; its process is the real one, without a project."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kpd.daemon import deployer
from kpd.daemon.deployer import Deployer
from kpd.daemon.deployments import DeploymentReader
from kpd.daemon.journal import EventJournal
from kpd.daemon.store import EventStore
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.causes import Stopped
from kpd.workspace.config import Config
from kpd.workspace.deployments import DeploymentJournal
from kpd.workspace.paths import Workspace
from tests.support.daemon.timers import armed
from tests.support.patience import PATIENCE_S


def due(folder: Path, *projects: str) -> tuple[EventJournal, Deployer]:
    """Return the log with a run that has won for each project, and what begins their deployments."""
    workspace, journal = Workspace(folder), EventJournal(EventStore(folder / "events.db"))
    for number, project in enumerate(projects, 1):
        journal.emit(e.RunQueued(f"r{number}", "t", "sweep", "local", Budget(), deploy=project))
        journal.emit(e.RunEnded(f"r{number}", "improved", Stopped("op")))
    return journal, Deployer(workspace, Config, journal, DeploymentReader(workspace, journal).look)


async def given_up(journal: EventJournal, run: str = "r1") -> str:
    """Wait until the run's deployment was given up; return why."""
    told = asyncio.Event()
    journal.subscribe(lambda message: told.set())
    async with asyncio.timeout(PATIENCE_S):
        while not journal.state.runs[run].undeployed:
            told.clear()
            await told.wait()
    return journal.state.runs[run].undeployed


async def test_what_is_busy_is_looked_for_again_by_one_timer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal, deploying = due(tmp_path, "p", "p", "q")
    again = armed(monkeypatch, Deployer)
    (tmp_path / "deployments" / "q" / "lock").mkdir(parents=True)  # nobody can say whether it is busy
    with DeploymentJournal(tmp_path / "deployments" / "p").locked():
        deploying.begin()
        assert again() == 1
        journal.emit(e.RunEnded("r2", "improved", Stopped("op")))
        assert again() == 1
    deploying.close()
    assert (again(), [run.deploys for run in journal.state.runs.values()]) == (0, [0, 0, 0])
    journal.close()


async def test_a_process_that_begins_nothing_is_told_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)  # as on macOS
    (tmp_path / "tasks").mkdir()
    (tmp_path / "config.toml").touch()
    (tmp_path / "deployments" / "p").mkdir(parents=True)
    os.mkfifo(tmp_path / "deployments" / "p" / "r1.output")
    journal, deploying = due(tmp_path, "p")
    deploying.begin()
    assert await given_up(journal) == "kpd: no project 'p' in config.toml; kpd project add makes one"
    assert journal.state.runs["r1"].deploys == 1
    journal.close()


def no_settings() -> Config:
    raise RuntimeError("no\x1b settings")


@pytest.mark.parametrize(
    ("settings", "said"), [(Config, "r1.output: Is a directory"), (no_settings, "RuntimeError: no settings")]
)
async def test_what_cannot_be_begun_is_told_and_not_tried_again(
    tmp_path: Path, settings: Callable[[], Config], said: str
) -> None:
    (tmp_path / "deployments" / "p" / "r1.output").mkdir(parents=True)
    journal, deploying = due(tmp_path, "p")
    deploying._settings = settings
    deploying.begin()
    assert (await given_up(journal)).endswith(said)
    assert journal.state.runs["r1"].deploys == 1
    journal.close()


async def test_a_deployment_whose_process_is_ended_again_and_again_is_given_up(tmp_path: Path) -> None:
    journal, deploying = due(tmp_path, "p")
    for _ in range(deployer.MOST_BEGUN):
        journal.emit(e.DeployBegun("r1", "p"))
    deploying.begin()
    assert await given_up(journal) == "its process was ended 3 times before it could say how it went"
    assert not (tmp_path / "deployments").exists()
    journal.close()
