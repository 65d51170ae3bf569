"""Where a run ends, a search goes on, money runs out and a step has stalled: just before, and just then."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kpd.claude.errors import OverBudget
from kpd.daemon.journal import EventJournal
from kpd.daemon.store import EventStore
from kpd.engine.ledger import RunLedger
from kpd.engine.plan import End, Iterate, next_action
from kpd.engine.steps import feedback
from kpd.engine.watchdog import Watchdog
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.model.spending import Usage
from kpd.model.state import State
from kpd.model.status import Outcome, Running, Stepping
from kpd.model.waits import Wait
from kpd.workspace.config import ClaudeConfig
from tests.support.model.samples import confirmed, done, run_of

BASELINE = Iteration(0, "baseline", 0, 0.0, status=done("baseline"), score=100.0)


def tried(number: int, outcome: Outcome = "rejected", agent: str = "sweep", score: float = 90.0) -> Iteration:
    return Iteration(number, agent, 0, 0.0, status=done(outcome), score=score)


# ── what next ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("budget", "ends"), [(Budget(4, 9), False), (Budget(3, 9), True), (Budget(2, 9), True)])
def test_a_run_ends_with_its_iterations(budget: Budget, ends: bool) -> None:
    run = run_of(BASELINE, *map(tried, (1, 2, 3)), budget=budget)
    assert isinstance(next_action(confirmed(run)), End) is ends


@pytest.mark.parametrize(("patience", "ends"), [(3, False), (2, True), (1, True)])
def test_a_run_ends_with_its_patience_since_the_last_gain(patience: int, ends: bool) -> None:
    gain = tried(2, "accepted")
    run = run_of(BASELINE, tried(1), gain, tried(3), tried(4), budget=Budget(99, patience))
    assert isinstance(next_action(confirmed(run)), End) is ends


@pytest.mark.parametrize(("score", "lower", "higher"), [(49.9, True, False), (50.0, True, True), (50.1, False, True)])
def test_a_run_ends_at_its_stop_score(score: float, lower: bool, higher: bool) -> None:
    run = confirmed(run_of(replace(BASELINE, score=score), budget=Budget(9, 9, stop_score=50.0)))
    assert isinstance(next_action(run), End) is lower
    assert isinstance(next_action(run, "higher"), End) is higher


@pytest.mark.parametrize(
    ("values", "points"), [((2,), 1), ((2, 2), 3), ((9,), 8), ((10,), 8), ((3, 3), 8), ((4, 4), 8)]
)
def test_a_search_tries_the_other_points_and_eight_at_most(values: tuple[int, ...], points: int) -> None:
    tune = {f"P{at}": tuple(map(str, range(count))) for at, count in enumerate(values)}
    unsure = replace(tried(1, agent="claude"), tune=tune)
    for count in range(points + 1):
        sweeps = [tried(number) for number in range(2, 2 + count)]
        run = replace(run_of(BASELINE, unsure, *sweeps, budget=Budget(99, 99)), agent="claude,sweep")
        step = next_action(run)
        assert not isinstance(step, End)
        assert getattr(step, "agent", "") == ("sweep" if count < points else "claude")


def test_what_could_not_be_measured_is_not_searched() -> None:
    unsure = replace(tried(1, "failed", "claude"), tune={"P": ("1", "2", "3")}, score=None)
    step = next_action(replace(run_of(BASELINE, unsure, budget=Budget(99, 99)), agent="claude,sweep"))
    assert step == Iterate(2, "claude")


@pytest.mark.parametrize(("last", "then"), [("claude", "mailbox"), ("mailbox", "script:a"), ("script:a", "claude")])
def test_agents_take_turns_in_the_order_they_are_named(last: str, then: str) -> None:
    run = replace(run_of(BASELINE, tried(1, agent=last), budget=Budget(99, 99)), agent="claude,mailbox,script:a")
    assert next_action(run) == Iterate(2, then)


@pytest.mark.parametrize(("length", "whole"), [(4000, True), (4001, False)])
def test_an_agent_sees_four_thousand_characters_of_a_compiler_s_log(length: int, whole: bool) -> None:
    log = "x" * length
    assert (feedback(log) == log) is whole
    assert feedback(log).startswith("x" * 4000)
    assert feedback("short\n" + log).startswith("short\n[")


# ── money ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[EventJournal]:
    journal = EventJournal(EventStore(tmp_path / "log.sqlite"))
    journal.emit(e.RunQueued("r1", "scale", "claude", "local", Budget(usd=1.0)))
    journal.emit(e.IterationStarted("r1", 1, "claude", 0))
    yield journal
    journal.close()


@pytest.mark.parametrize(("day", "scope"), [(0.0, "run"), (1.0, "run"), (0.75, "day")])
@pytest.mark.parametrize("spent", [True, False], ids=["spent", "under way"])
def test_the_last_cent_may_be_spent_and_no_more(journal: EventJournal, day: float, scope: str, spent: bool) -> None:
    ledger = RunLedger(journal, ClaudeConfig(max_usd_per_day=day), "r1", 1)
    call = ledger.begin("propose", "claude-sonnet-5-5", 0.5)
    if spent:
        ledger.billed(call, Usage(input=1), 0.5, False)
    left = (day if scope == "day" else 1.0) - 0.5
    with pytest.raises(OverBudget) as caught:
        ledger.begin("again", "claude-sonnet-5-5", left + 1e-9)
    assert caught.value.over.scope == scope
    assert ledger.begin("again", "claude-sonnet-5-5", left) == 2


# ── what has stalled ──────────────────────────────────────────────────────────────────────────────────────────────


def at_step(waiting: Wait | None = None) -> State:
    step = Iteration(3, "sweep", 0, 0.0, status=Stepping("time"))
    run = Run("r1", "t", "sweep", "local", Budget(), 0.0, status=Running(waiting), iterations=(step,))
    return State(runs={"r1": replace(run, started=1.0, device="EPYC", device_id="cpu")})


def told(usual: float | None, *looks: tuple[State, float]) -> list[int]:
    """How many things each look tells, when a step usually takes `usual` seconds."""
    watchdog = Watchdog()
    return [len(watchdog.look(state, at, 0.0, lambda run, step: usual)) for state, at in looks]


@pytest.mark.parametrize(
    ("usual", "quiet", "stalled"),
    [(None, 599.9, 600.0), (1.0, 599.9, 600.0), (59.9, 599.9, 600.0), (100.0, 1000.0, 1000.1)],
)
def test_a_step_has_stalled_after_ten_minutes_and_ten_times_its_usual(
    usual: float | None, quiet: float, stalled: float
) -> None:
    assert told(usual, (at_step(), 0.0), (at_step(), quiet), (at_step(), stalled)) == [0, 0, 1]


@pytest.mark.parametrize(("gap", "news"), [(150.0, 1), (150.1, 0)])
def test_what_is_not_seen_for_two_minutes_and_a_half_is_over(gap: float, news: int) -> None:
    away = at_step("its device is busy")
    assert told(None, (at_step(), 0.0), (away, gap), (at_step(), 600.0)) == [0, 0, news]


@pytest.mark.parametrize(("idle_s", "news"), [(300.0, 1), (300.1, 0), (0.0, 0)])
def test_a_device_is_idle_after_the_time_that_the_config_gives(idle_s: float, news: int) -> None:
    watchdog, waits = Watchdog(), at_step("its device is busy")
    assert watchdog.look(waits, 0.0, idle_s, lambda run, step: None) == []
    found = watchdog.look(waits, 300.0, idle_s, lambda run, step: None)
    assert [type(one) for one in found] == [e.DeviceIdle] * news
