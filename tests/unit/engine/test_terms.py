"""What an operator changes while a run goes on: its budget, its agents, its rules, its place in the queue."""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from kpd.client import DaemonError
from kpd.daemon.accounting import least_gain
from kpd.daemon.commands import carry_out
from kpd.daemon.journal import EventJournal
from kpd.daemon.sources import Sources
from kpd.daemon.store import EventStore
from kpd.daemon.views import answer
from kpd.engine.engine import Engine
from kpd.engine.placement import Placement
from kpd.engine.plan import End, Iterate, Wait, next_action
from kpd.engine.run_loop import RunLoop
from kpd.hosts.gpu_hours import GpuHours, Lent, hours_file
from kpd.hosts.transports import host_of
from kpd.model import events as e
from kpd.model.agents import AgentTraits
from kpd.model.budget import Budget
from kpd.model.causes import GpuHoursUsed, HoursUsed, IterationsUsed, Stopped
from kpd.model.hosts import Device
from kpd.model.kinds import Told
from kpd.model.run import Run
from kpd.model.status import Queued
from kpd.model.verdicts import Gain, Verdict
from kpd.workspace.config import Config
from kpd.workspace.host_tables import HostConfig
from kpd.workspace.paths import Workspace
from tests.support.drawn import examples

BUDGET = Budget(iterations=4, patience=3, min_gain_pct=2.0, stop_score=1.5, fix_attempts=8, usd=5.0)


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    """An engine with one run that has a baseline, and nobody who conducts it."""
    (tmp_path / "ws").mkdir()
    with EventStore(tmp_path / "events.db") as store:
        journal = EventJournal(store)
        journal.emit(e.RunQueued("r1", "scale", "claude", "local", BUDGET))
        journal.emit(e.RunStarted("r1", "EPYC", "local", "cpu"))
        iterated(journal, 0, "baseline")
        yield Engine(Workspace(tmp_path / "ws"), Config(), journal)


def iterated(journal: EventJournal, number: int, outcome: Any, agent: str = "claude") -> None:
    journal.emit(e.IterationStarted("r1", number, agent if number else "baseline", 0))
    if outcome in ("baseline", "accepted"):
        journal.emit(e.Accepted("r1", number, {"kernel.c": "0"}))
    journal.emit(e.IterationEnded("r1", number, outcome, Told("because")))


async def told(engine: Engine, verb: str, **args: Any) -> Any:
    return await carry_out(engine, verb, args, "ada")


def last(engine: Engine) -> e.Fact:
    return list(engine.journal.events())[-1].fact


# ── budget ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_budget_changes_where_it_is_told_to_and_nowhere_else(engine: Engine) -> None:
    assert await told(engine, "budget", iterations=9, usd=0) == {"run": "r1"}
    assert last(engine) == e.BudgetChanged("r1", replace(BUDGET, iterations=9, usd=0.0), "ada")
    await told(engine, "budget", stop_score=0)
    assert engine.journal.state.runs["r1"].budget.stop_score is None
    before = engine.journal.state.seq
    await told(engine, "budget", iterations=9)
    assert engine.journal.state.seq == before, "what changes nothing is no news"


@pytest.mark.parametrize(
    "args",
    [
        {}, {"iterations": 0}, {"patience": -1}, {"min_gain_pct": 100}, {"min_gain_pct": -0.1}, {"usd": -1},
        {"stop_score": -2}, {"fix_attempts": 0}, {"iterations": "many"}, {"iterations": 2.5}, {"minutes": 3},
        {"run": "r7", "iterations": 3},
    ],
)  # fmt: skip
async def test_a_budget_that_is_none_is_refused(engine: Engine, args: dict[str, Any]) -> None:
    with pytest.raises(DaemonError):
        await told(engine, "budget", **args)
    assert engine.journal.state.runs["r1"].budget == BUDGET


@pytest.mark.parametrize(
    ("verb", "args"),
    [
        ("budget", {"iterations": 9}),
        ("agent", {"agent": "sweep"}),
        ("rule", {"rule": "bank_conflicts", "stand": "pinned"}),
    ],
)
async def test_a_run_that_has_ended_keeps_its_terms(engine: Engine, verb: str, args: dict[str, Any]) -> None:
    engine.journal.emit(e.RunEnded("r1", "stopped", Stopped("ada")))
    with pytest.raises(DaemonError, match="r1 has ended: stopped by ada"):
        await told(engine, verb, **args)


async def test_a_smaller_budget_ends_the_run_after_the_iteration_under_way(engine: Engine) -> None:
    for number in (1, 2):
        iterated(engine.journal, number, "rejected")
    engine.journal.emit(e.IterationStarted("r1", 3, "claude", 0))
    await told(engine, "budget", iterations=1)
    assert next_action(engine.journal.state.runs["r1"]) == Iterate(3, "claude", resumed=True)
    engine.journal.emit(e.IterationEnded("r1", 3, "rejected", Told("slower")))
    assert next_action(engine.journal.state.runs["r1"]) == End("no_gain", IterationsUsed(1))
    await told(engine, "budget", iterations=9, patience=9)
    assert next_action(engine.journal.state.runs["r1"]) == Iterate(4, "claude")


async def test_a_verdict_is_derived_again_with_the_gain_that_was_asked_for_then(engine: Engine) -> None:
    journal = engine.journal
    assert isinstance(journal, EventJournal)
    verdict = Verdict("faster", Gain(3.0, 2.5, 3.5), 7, True, "told", told="faster")
    await told(engine, "budget", min_gain_pct=1)
    journal.emit(e.IterationStarted("r1", 1, "claude", 0))
    journal.emit(e.Judged("r1", 1, 0.1, 0.1, verdict))
    await told(engine, "budget", min_gain_pct=50)
    journal.emit(e.IterationStarted("r1", 2, "claude", 0))
    journal.emit(e.Judged("r1", 2, 0.1, 0.1, verdict))
    run = journal.state.runs["r1"]
    assert [least_gain(journal.store, run, number) for number in (1, 2)] == [1.0, 50.0]


async def test_a_run_that_its_hours_have_ended_goes_on_with_new_ones(engine: Engine) -> None:
    def run() -> Run:
        return engine.journal.state.runs["r1"]

    await told(engine, "budget", hours=2)
    began = run().clock
    assert began is not None and run().deadline == began + 7200
    engine.journal.emit(e.DeadlinePassed("r1"))
    assert run().late and run().deadline is None, "it is told once"
    await told(engine, "budget", hours=3)
    assert not run().late and run().deadline == began + 3 * 3600, "counted from the same beginning"
    engine.journal.emit(e.DeadlinePassed("r1"))
    engine.journal.emit(e.RunEnded("r1", "no_gain", HoursUsed(3.0)))
    with pytest.raises(DaemonError, match="r1 has ended: budget of 3 hours used"):
        await told(engine, "budget", iterations=9)
    await told(engine, "budget", hours=3)
    assert isinstance(run().status, Queued) and not run().late and run().deadline is None
    engine.journal.emit(e.RunStarted("r1", "cpu"))
    assert run().clock is not None and run().started == began, "the new hours count from now on"


async def test_a_run_ends_once_its_share_of_the_allocations_is_used_and_goes_on_with_more(engine: Engine) -> None:
    journal, now = engine.journal, time.time()
    journal.emit(e.IterationStarted("r1", 1, "claude", 0))
    engine.pool.hosts["local"] = host_of("local", HostConfig(), engine.workspace)
    places = {0: Placement("local", Device("cpu", "cpu", "EPYC"))}
    loop = RunLoop(engine.workspace, lambda: engine.config, journal, engine.pool, places, engine.scheduler.turns, "r1")
    await told(engine, "budget", gpu_hours=4)
    GpuHours(hours_file(engine.workspace)).note(Lent("local", "7", "me", "a", 3600, now - 60, now + 60))
    loop.mind_hours()
    assert not journal.state.runs["r1"].late, "one second of these GPUs is an hour"
    await told(engine, "budget", gpu_hours=1e-9)
    passed = asyncio.Event()
    journal.subscribe(lambda message: passed.set())
    loop.mind_hours()
    await passed.wait()
    assert last(engine) == e.DeadlinePassed("r1", gpus=True)
    journal.emit(e.RunEnded("r1", "no_gain", GpuHoursUsed(1e-9)))
    with pytest.raises(DaemonError, match="has ended: budget of 1e-09 GPU hours used") as caught:
        await told(engine, "budget", hours=2)
    assert "--gpu-hours" in caught.value.remedy
    await told(engine, "budget", gpu_hours=8)
    run = journal.state.runs["r1"]
    assert isinstance(run.status, Queued) and not run.late and not run.gpus_used


async def test_a_run_is_not_continued_after_another_of_its_task(engine: Engine) -> None:
    engine.journal.emit(e.RunEnded("r1", "no_gain", HoursUsed(3.0)))
    engine.journal.emit(e.RunQueued("r2", engine.journal.state.runs["r1"].task, "sweep", "local", BUDGET))
    with pytest.raises(DaemonError, match="r1 has ended: budget of 3 hours used"):
        await told(engine, "budget", run="r1", hours=3)


# ── agents ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_another_agent_has_the_next_iteration_and_not_the_one_under_way(engine: Engine) -> None:
    engine.journal.emit(e.IterationStarted("r1", 1, "claude", 0))
    await told(engine, "agent", agent="sweep")
    assert next_action(engine.journal.state.runs["r1"]) == Iterate(1, "claude", resumed=True)
    engine.journal.emit(e.IterationEnded("r1", 1, "rejected", Told("slower")))
    assert next_action(engine.journal.state.runs["r1"]) == Iterate(2, "sweep")
    await told(engine, "agent", agent="operator")
    assert isinstance(next_action(engine.journal.state.runs["r1"]), Wait)


async def test_a_model_is_the_run_s_own_until_it_is_the_config_s_again(engine: Engine) -> None:
    await told(engine, "agent", model="claude-haiku-5-5")
    models, explores = {"claude": AgentTraits(models=True)}, {"sweep": AgentTraits(explores=True)}
    assert last(engine) == e.AgentChanged("r1", "claude", "claude-haiku-5-5", "ada", models)
    await told(engine, "agent", agent="claude,sweep")
    assert last(engine) == e.AgentChanged("r1", "claude,sweep", "claude-haiku-5-5", "ada", models | explores)
    await told(engine, "agent", model="")
    assert last(engine) == e.AgentChanged("r1", "claude,sweep", "", "ada", models | explores)


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ({}, "neither an agent nor a model"),
        ({"agent": "nobody"}, "no agent 'nobody'"),
        ({"agent": "claude,operator"}, "takes no turns"),
        ({"agent": "claude,claude"}, "twice"),
        ({"model": "two words"}, "is not a model's name"),
        ({"model": "-rf"}, "is not a model's name"),
        ({"model": "x" * 200}, "is not a model's name"),
        ({"model": "claude\x1b[2J"}, "is not a model's name"),
        ({"model": "of-a-price-that-nobody-knows"}, "the price of of-a-price-that-nobody-knows is not known"),
        ({"agent": "sweep", "model": "claude-haiku-5-5"}, "sweep asks no model"),
    ],
)
async def test_an_agent_or_a_model_that_is_none_is_refused(engine: Engine, args: dict[str, Any], why: str) -> None:
    with pytest.raises(DaemonError, match=why):
        await told(engine, "agent", **args)
    assert (engine.journal.state.runs["r1"].agent, engine.journal.state.runs["r1"].model) == ("claude", "")


# ── rules ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_rule_is_pinned_or_banned_until_it_is_plain_again(engine: Engine) -> None:
    assert await told(engine, "rule", rule="poor_coalescing", stand="pinned") == {
        "run": "r1",
        "rule": "poor_coalescing",
    }
    await told(engine, "rule", rule="spills_in_loop", stand="banned")
    assert engine.journal.state.runs["r1"].stands == {"poor_coalescing": "pinned", "spills_in_loop": "banned"}
    found = {rule["id"]: rule["stand"] for rule in answer("rules", {}, Sources(engine.journal.state, engine.workspace))}
    assert (found["poor_coalescing"], found["spills_in_loop"], found["low_occupancy"]) == ("pinned", "banned", "plain")
    await told(engine, "rule", rule="poor_coalescing", stand="plain")
    assert engine.journal.state.runs["r1"].stands == {"spills_in_loop": "banned"}


async def test_a_skill_of_the_workspace_is_as_good_as_a_rule(engine: Engine) -> None:
    engine.workspace.skills.mkdir()
    body = "**Signal**: on Fridays\n\n**Root causes**\n- a\n\n**Fixes**\n- b\n\n**Anti-patterns**\n- c\n"
    (engine.workspace.skills / "our_own.md").write_text(body)
    await told(engine, "rule", rule="our_own", stand="pinned")
    assert engine.journal.state.runs["r1"].stands == {"our_own": "pinned"}


async def test_a_rule_that_nobody_knows_is_refused_with_those_that_sound_like_it(engine: Engine) -> None:
    with pytest.raises(DaemonError, match="no rule 'poor_coalesing'") as refused:
        await told(engine, "rule", rule="poor_coalesing", stand="pinned")
    assert "did you mean poor_coalescing" in refused.value.remedy
    with pytest.raises(DaemonError, match="no rule 'x'"):
        await told(engine, "rule", rule="x", stand="banned")
    with pytest.raises(DaemonError):
        await told(engine, "rule", rule="poor_coalescing", stand="hidden")


# ── the queue ─────────────────────────────────────────────────────────────────────────────────────────────────────


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["up", "down", "top", "bottom"])), max_size=12))
@settings(max_examples=examples(30))
def test_a_move_moves_one_run_and_the_others_keep_their_order(moves: list[tuple[int, str]]) -> None:
    async def all_of_them(folder: Path) -> None:
        with EventStore(folder / "events.db") as store:
            journal = EventJournal(store)
            for number in range(1, 6):
                journal.emit(e.RunQueued(f"r{number}", f"t{number}", "sweep", "any", BUDGET))
            engine = Engine(Workspace(folder), Config(), journal)
            for index, to in moves:
                before = [run.id for run in journal.state.queue]
                moved = before[index]
                done = await carry_out(engine, "move", {"run": moved, "to": to}, "ada")
                after = [run.id for run in journal.state.queue]
                wanted = {"up": max(index - 1, 0), "down": min(index + 1, 4), "top": 0, "bottom": 4}[to]
                assert (after.index(moved), done) == (wanted, {"run": moved, "place": wanted + 1})
                assert [one for one in after if one != moved] == [one for one in before if one != moved]
            journal.emit(e.RunQueued("r6", "t6", "sweep", "any", BUDGET))
            assert [run.id for run in journal.state.queue][-1] == "r6", "who comes later is last"

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(all_of_them(Path(folder)))


async def test_only_what_waits_can_be_moved(engine: Engine) -> None:
    with pytest.raises(DaemonError, match="r1 has begun: only what is queued can be moved"):
        await told(engine, "move", run="r1", to="up")
    with pytest.raises(DaemonError):
        await told(engine, "move", run="r1", to="sideways")


"""A daemon in which `claude` says which model it would ask, and proposes nothing."""
