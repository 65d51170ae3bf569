"""The accounts of runs: what may be spent, with what is under way, and calls whose end nobody saw."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kpd.claude.errors import OverBudget, Unavailable
from kpd.claude.purse import FILE, Purse
from kpd.daemon.journal import EventJournal
from kpd.daemon.store import EventStore
from kpd.engine.ledger import RunLedger, settle, spent_today
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.spending import Usage
from kpd.text.notices import notice
from kpd.workspace.config import ClaudeConfig

MODEL = "claude-sonnet-5-5"
USED = Usage(100, 10, 1000, 50)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[EventJournal]:
    journal = EventJournal(EventStore(tmp_path / "log.sqlite"))
    for run in ("r1", "r2"):
        journal.emit(e.RunQueued(run, "scale", "claude", "local", Budget(usd=1.0)))
        journal.emit(e.IterationStarted(run, 1, "claude", 0))
    yield journal
    journal.close()


def ledger(journal: EventJournal, run: str = "r1", day: float = 0.0) -> RunLedger:
    return RunLedger(journal, ClaudeConfig(max_usd_per_day=day), run, 1)


def test_a_call_is_in_the_log_before_it_is_made_and_when_it_has_ended(journal: EventJournal) -> None:
    call = ledger(journal).begin("propose", MODEL, 0.2)
    assert journal.state.runs["r1"].reserved_usd == 0.2
    ledger(journal).billed(call, USED, 0.05, False)
    run = journal.state.runs["r1"]
    assert (run.reserved_usd, run.spend.calls, run.spend.usd, run.spend.usage) == (0.0, 1, 0.05, USED)
    assert run.iterations[0].spend == run.spend
    assert next(iter(journal.state.days.values())) == run.spend


def test_a_run_may_not_spend_more_than_its_own_limit(journal: EventJournal) -> None:
    of_run = ledger(journal)
    of_run.billed(of_run.begin("propose", MODEL, 0.9), USED, 0.7, False)
    with pytest.raises(OverBudget, match=r"\$0.70 of the \$1.00 for the run are spent") as caught:
        of_run.begin("again", MODEL, 0.4)
    assert caught.value.over.scope == "run"
    assert of_run.begin("again", MODEL, 0.3) == 2


def test_what_is_spent_beside_runs_counts_for_the_day(journal: EventJournal, tmp_path: Path) -> None:
    journal.emit(e.DaemonStarted("0.1.0", 1, str(tmp_path)))
    beside = Purse(tmp_path, "task t", ClaudeConfig(), lambda: 0.0)
    beside.billed(beside.begin("harness", MODEL, 0.5), USED, 0.25, False)
    beside.begin("harness", MODEL, 0.25)  # under way: counts at its most
    assert ledger(journal, day=1.0).begin("propose", MODEL, 0.5) == 1
    with pytest.raises(OverBudget, match="max_usd_per_day") as caught:
        ledger(journal, day=1.0).begin("propose", MODEL, 0.01)
    assert caught.value.over.spent_usd == 1.0
    assert spent_today(journal.state, tmp_path, time.time()) == 1.0
    (tmp_path / FILE).unlink()
    (tmp_path / FILE).mkdir()  # it cannot be read: a person is needed, and not the host
    with pytest.raises(Unavailable, match="what models have cost beside runs is not known"):
        ledger(journal, day=1.0).begin("propose", MODEL, 0.01)
    assert spent_today(journal.state, tmp_path, time.time()) is None


def test_what_other_runs_may_still_cost_counts_for_the_day(journal: EventJournal) -> None:
    ledger(journal, "r1", day=1.0).begin("propose", MODEL, 0.8)
    with pytest.raises(OverBudget, match="max_usd_per_day") as caught:
        ledger(journal, "r2", day=1.0).begin("propose", MODEL, 0.8)
    assert caught.value.over.scope == "day"


def test_without_a_price_a_limit_cannot_be_held(journal: EventJournal) -> None:
    with pytest.raises(Unavailable, match="price of my-model is not known"):
        ledger(journal).begin("propose", "my-model", None)
    journal.emit(e.RunQueued("r3", "scale", "claude", "local", Budget()))
    journal.emit(e.IterationStarted("r3", 1, "claude", 0))
    free = ledger(journal, "r3")
    free.billed(free.begin("propose", "my-model", None), USED, None, False)
    assert journal.state.runs["r3"].spend.unpriced == 1


def test_a_call_whose_end_nobody_saw_counts_with_the_most_it_could_cost(journal: EventJournal) -> None:
    ledger(journal).begin("propose", MODEL, 0.16)
    settle(journal)
    run = journal.state.runs["r1"]
    assert (run.calls, run.spend.calls, run.spend.usd) == ((), 1, 0.16)
    assert "the most that it could cost, $0.16" in notice(journal.state.notices[-1])
    settle(journal)
    assert journal.state.runs["r1"].spend.calls == 1
