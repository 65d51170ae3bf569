"""What becomes of a first right candidate, the baseline where the task's own files are not right."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any, Literal, cast

import pytest

from kpd.daemon.journal import EventJournal
from kpd.daemon.store import EventStore
from kpd.engine.attempt import Attempt
from kpd.engine.record import record
from kpd.hosts.host import Host
from kpd.hosts.local import Local
from kpd.model import events as e
from kpd.model.causes import Flagged, Superseded
from kpd.model.flags import Calls
from kpd.model.hosts import Device
from kpd.model.iteration import Override
from kpd.model.run import Budget
from kpd.model.verdicts import Gain, Verdict
from kpd.workspace.paths import Workspace
from kpd.workspace.specs import CheckSpec
from tests.support.model.samples import task_of

FLAG = Calls("clock_gettime")
ITSELF = Verdict("undecided", Gain(0.0, -1.0, 1.0), 7, False, "undecided", 1.0)


@pytest.fixture(name="journal")
def _journal(tmp_path: Path) -> Iterator[EventJournal]:
    journal = EventJournal(EventStore(tmp_path / "events.db"))
    journal.emit(e.RunQueued("r1", "scale", "claude", "local", Budget()))
    journal.emit(e.TaskPinned("r1", {}, {}, own_files="absent"))
    yield journal
    journal.close()


async def recorded(
    root: Path, journal: EventJournal, number: int, flagged: Literal["hold", "reject"]
) -> e.IterationEnded:
    """The end of a candidate that was measured against itself and has a flag."""
    task = replace(task_of(root / "scale", {}), check=CheckSpec(flagged=flagged))
    host = Host("local", PurePosixPath("/root"), Local())
    bench = SimpleNamespace(device=Device("cpu", "cpu", "a CPU"))
    given: list[Any] = [Workspace(root), None, journal, None, host, bench, None, task, Path(), "r1", number]
    attempt = Attempt(*given, prepare=cast(Any, None))
    attempt.folder.write_candidate({"kernel.c": b""})
    journal.emit(e.Judged("r1", number, 0, 0, ITSELF, flags=(FLAG,)))
    return await record(attempt, attempt.detail_of(number))


@pytest.mark.parametrize(("flagged", "outcome"), [("hold", "held"), ("reject", "rejected")])
async def test_a_flagged_one_is_held_or_rejected_as_the_task_says(
    tmp_path: Path, journal: EventJournal, flagged: Literal["hold", "reject"], outcome: str
) -> None:
    journal.emit(e.IterationStarted("r1", 0, "claude", 0))
    ended = await recorded(tmp_path, journal, 0, flagged)
    assert (ended.outcome, ended.cause) == (outcome, Flagged(ITSELF, (FLAG,)))


async def test_one_that_was_under_way_when_a_person_accepted_another_is_no_second_baseline(
    tmp_path: Path, journal: EventJournal
) -> None:
    journal.emit(e.IterationStarted("r1", 0, "claude", 0))
    journal.emit(await recorded(tmp_path, journal, 0, "hold"))
    journal.emit(e.IterationStarted("r1", 1, "claude", 1))
    journal.emit(e.Accepted("r1", 0, {}, Override("ada")))
    ended = await recorded(tmp_path, journal, 1, "hold")
    assert (ended.outcome, ended.cause) == ("rejected", Superseded(ITSELF, "r1", 0))
