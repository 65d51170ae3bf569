"""A run that is ended before its plan: one that had ended before, and was reopened for a contest, keeps that end."""

from pathlib import Path

import pytest

from kpd.daemon.journal import EventJournal
from kpd.daemon.store import EventStore
from kpd.engine.ending import break_off
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.causes import IterationsUsed, NotMeasurable, PlugInTrouble, RunCause, RunOver, Stopped
from kpd.model.status import Done, Ended, RunOutcome
from kpd.text.endings import run_ended
from kpd.text.notices import told as told_of

BREAKS: tuple[tuple[RunOutcome, RunCause], ...] = (
    ("stopped", Stopped("me")), ("failed", NotMeasurable("gone")), ("failed", PlugInTrouble("it raised")),
)  # fmt: skip


@pytest.fixture
def journal(tmp_path: Path) -> EventJournal:
    journal = EventJournal(EventStore(tmp_path / "events.db"))
    journal.emit(e.RunQueued("r1", "task", "sweep", "local", Budget()))
    journal.emit(e.IterationStarted("r1", 0, "baseline", 0))
    return journal


@pytest.mark.parametrize(("outcome", "cause"), BREAKS)
def test_a_run_ends_as_it_is_broken_off(journal: EventJournal, outcome: RunOutcome, cause: RunCause) -> None:
    break_off(journal, "r1", outcome, cause)
    run = journal.state.runs["r1"]
    assert isinstance(run.status, Ended) and (run.status.outcome, run.status.cause) == (outcome, cause)
    (only,) = run.iterations
    assert isinstance(only.status, Done) and (only.outcome, only.cause) == ("interrupted", RunOver(cause))


@pytest.mark.parametrize(("outcome", "cause"), BREAKS)
def test_a_run_that_had_ended_keeps_that_end(journal: EventJournal, outcome: RunOutcome, cause: RunCause) -> None:
    journal.emit(e.RunEnded("r1", "improved", IterationsUsed(2)))
    journal.emit(e.AgainAsked("r1", 0, by="me", confirming="decision"))
    journal.emit(e.IterationStarted("r1", 1, "again", 0, again=0, confirming="decision"))
    journal.emit(e.AgainAsked("r1", 0, by="me"))
    break_off(journal, "r1", outcome, cause)
    run = journal.state.runs["r1"]
    assert isinstance(run.status, Ended) and (run.status.outcome, run.status.cause) == ("improved", IterationsUsed(2))
    assert run.iterations[1].cause == RunOver(cause), "the contest itself was broken off"
    told = [told_of(one.about) for one in journal.state.notices]
    if isinstance(cause, Stopped):
        assert told == []
    else:
        assert told == [f"r1 has ended as before, and could not measure what was asked for: {run_ended(cause)}"]
    assert (run.reopened, run.again) == (None, ()), "what it was still to measure does not come back with a later wish"
