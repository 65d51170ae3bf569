"""Comparisons of built tools without a daemon's process: what is refused, the order of runs, and what stops them."""

import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kpd.agents import catalogue
from kpd.daemon.commands import carry_out
from kpd.daemon.journal import EventJournal
from kpd.daemon.store import EventStore
from kpd.engine.comparing import drawn, queue_next, settings_digest
from kpd.engine.engine import Engine
from kpd.model import events as e
from kpd.model.causes import Flagged, IterationsUsed
from kpd.model.comparisons import is_over, runs_of
from kpd.model.flags import Calls
from kpd.model.side import in_blocks
from kpd.model.toolbox import OF_EVERY, ToolCheck, ToolCheckName
from kpd.model.verdicts import Gain, Verdict
from kpd.sessions.kinds import CLAUDE_CODE
from kpd.wire import DaemonError
from kpd.workspace.coding_agents import AgentConfig
from kpd.workspace.config import RunConfig, load_config
from kpd.workspace.paths import Workspace
from tests.places import DATA

GOOD, OTHER = "a" * 64, "b" * 64
NEEDED: tuple[ToolCheckName, ...] = (*OF_EVERY, "skill")


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """An engine that serves nothing, with a task, a coding agent, and tools in several states."""
    root = tmp_path / "workspace"
    shutil.copytree(DATA / "tasks" / "scale", root / "tasks" / "scale")
    (root / "config.toml").write_text(f'[agents.mine]\nexec = ["{sys.executable}"]\nconfined = false\n')
    workspace = Workspace(root)
    workspace.make_private()
    with EventStore(workspace.store) as store:
        journal = EventJournal(store)
        passed = tuple(ToolCheck(name, True) for name in NEEDED)
        for tool, version, task in (("lint", GOOD, "scale"), ("old", OTHER, "scale"), ("far", GOOD, "elsewhere")):
            journal.emit(e.ToolBuilt(tool, version, task, {}, skill=True))
            journal.emit(e.ToolChecked(tool, version, passed))
        journal.emit(e.ToolQuarantined("old", OTHER, "it hangs", "ada"))
        yield Engine(workspace, load_config(workspace), journal)


async def compare(engine: Engine, **changes: Any) -> dict[str, Any]:
    given = {"task": "scale", "tools": "lint", "agent": "mine", "trials": 2, "seed": 7, **changes}
    return await carry_out(engine, "compare", given, "ada")


def begin_next(engine: Engine) -> None:
    queue_next(engine.workspace, engine.config, engine.journal)


def end_run(engine: Engine, run: str) -> None:
    engine.journal.emit(e.RunStarted(run, "a cpu", "local"))
    engine.journal.emit(e.RunEnded(run, "no_gain", IterationsUsed(1)))


@pytest.mark.parametrize(
    ("given", "message", "remedy"),
    [
        ({"tools": "lnt"}, "no tool 'lnt'", "tools: lint, old"),
        ({"tools": "far"}, "no tool 'far'", "tools: lint, old"),
        ({"tools": "old"}, "old@bbbbbbbbbbbb is quarantined: no session may get it", "kpd tools restore"),
        ({"tools": " , "}, "no tool is named", "kpd tools list"),
        ({"tools": ""}, "tools", ""),
        ({"tools": f"lint,lint@{GOOD[:4]}"}, "a session has one version of a tool", "once"),
        ({"trials": 1}, "trials must be an integer, at least 2 and at most 25", ""),
        ({"trials": 26}, "at most 25, not 26", ""),
        ({"agent": "sweep"}, "sweep uses no built tools", "--agent claude-code"),
        ({"agent": "mine,sweep"}, "uses no built tools", "one coding agent"),
        ({"task": "skale"}, "no task 'skale'", "tasks: "),
        ({"host": "moon"}, "no host 'moon'", "kpd hosts add"),
    ],
)
async def test_what_cannot_be_compared_is_refused_and_nothing_is_recorded(
    engine: Engine, given: dict[str, Any], message: str, remedy: str
) -> None:
    with pytest.raises(DaemonError) as refused:
        await compare(engine, **given)
    assert message in refused.value.message and remedy in refused.value.remedy
    assert not engine.journal.state.comparisons and not list(engine.workspace.runs.glob("*"))


async def test_a_tool_is_compared_with_those_that_it_points_at(engine: Engine) -> None:
    passed = tuple(ToolCheck(name, True) for name in NEEDED)
    engine.journal.emit(e.ToolBuilt("notes", GOOD, "scale", {}, skill=True, points=("lint",)))
    engine.journal.emit(e.ToolChecked("notes", GOOD, passed))
    with pytest.raises(DaemonError, match="notes@aaaaaaaaaaaa points at lint") as refused:
        await compare(engine, tools="notes")
    assert refused.value.remedy == "--with notes,lint"
    await compare(engine, tools="notes,lint")
    assert len(engine.journal.state.comparisons["c1"].tools) == 2


async def test_a_task_without_a_right_baseline_is_refused(engine: Engine) -> None:
    folder = engine.workspace.tasks / "found"
    folder.mkdir()
    (folder / "bench").write_text("")
    (folder / "task.toml").write_text(
        '[task]\nname = "found"\nlanguage = "command"\neditable = ["solution.py"]\nbaseline = "absent"\n'
        '[bench]\ncommand = "./bench"\n[check]\nunchecked = true\n'
    )
    with pytest.raises(
        DaemonError, match="own files of found are absent, so its runs would have no baseline"
    ) as refused:
        await compare(engine, task="found")
    assert 'remove baseline = "absent"' in refused.value.remedy


async def test_runs_are_queued_one_by_one_in_the_recorded_order_and_start_from_the_same_files(engine: Engine) -> None:
    found = await compare(engine, usd=3.0)
    (engine.workspace.tasks / "scale" / "kernel.c").write_text("an edit\n")
    one = engine.journal.state.comparisons[found["comparison"]]
    assert one.order == drawn(2, 7) and sorted(one.order) == ["plain", "plain", "tools", "tools"]
    for _ in one.order:
        begin_next(engine)
        begin_next(engine)
        end_run(engine, runs_of(engine.journal.state, one.id)[-1].id)
    begin_next(engine)
    runs = runs_of(engine.journal.state, one.id)
    assert [run.compared.side for run in runs if run.compared] == list(one.order)
    assert [len(run.compared.tools) for run in runs if run.compared] == [side == "tools" for side in one.order]
    assert len({(run.budget, run.host if nth else "local") for nth, run in enumerate(runs)}) == 1
    assert (runs[0].budget.usd, runs[0].budget.iterations, runs[0].budget.stop_score) == (3.0, 1, None)
    assert is_over(engine.journal.state, one)
    kept = engine.workspace.start_folder("scale", one.id) / "kernel.c"
    assert kept.read_bytes() == (DATA / "tasks" / "scale" / "kernel.c").read_bytes()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"agent": "sweep", "task_state": "reset"}, "sweep proposes changes of the incumbent"),
        ({"agent": "mine", "task_text": "x" * 8_001}, "the text on the task has 8,001 characters"),
        ({"agent": "mine", "task_state": "again"}, "task_state"),
    ],
)
async def test_a_start_or_a_text_that_no_run_can_have_is_refused(
    engine: Engine, given: dict[str, str], message: str
) -> None:
    with pytest.raises(DaemonError, match=message):
        await carry_out(engine, "run", {"task": "scale", **given}, "ada")
    await carry_out(engine, "run", {"task": "scale", "agent": "mine", "task_text": "x" * 8_000}, "ada")
    assert len(engine.journal.state.runs["r1"].task_text) == 8_000


async def test_no_comparison_passes_by_the_review_gate(engine: Engine) -> None:
    config = engine.config
    engine.config = replace(config, run=RunConfig(approve=True))
    with pytest.raises(DaemonError, match="candidates wait for a person") as refused:
        await compare(engine)
    assert "approve = false" in refused.value.remedy
    engine.config = config
    await compare(engine)
    engine.config = replace(config, run=RunConfig(approve=True))
    begin_next(engine)
    assert (engine.journal.state.comparisons["c1"].stopped, len(engine.journal.state.runs)) == ("settings", 0)


@pytest.mark.parametrize("why", ["settings", "agent", "tools", "operator", "run"])
async def test_a_comparison_stops_where_its_runs_would_not_be_equal_any_more(engine: Engine, why: str) -> None:
    one = (await compare(engine))["comparison"]
    begin_next(engine)
    if why == "settings":
        engine.config = replace(engine.config, agents={"mine": AgentConfig(exec=("other",))})
    elif why == "agent":
        engine.journal.emit(e.IterationStarted("r1", 1, "mine", 0))
        engine.journal.emit(e.SessionOpened("r1", 1, "r1.1", ("mine",), 60.0))
        engine.journal.emit(e.SessionKnown("r1", 1, "r1.1", "s", "mine 1.0", True, False))
        begin_next(engine)
        engine.journal.emit(e.SessionKnown("r1", 1, "r1.1", "s", "mine 1.0", True, False))
        assert not engine.journal.state.comparisons[one].stopped, "the same version again"
        end_run(engine, "r1")
        begin_next(engine)
        engine.journal.emit(e.IterationStarted("r2", 1, "mine", 0))
        engine.journal.emit(e.SessionOpened("r2", 1, "r2.1", ("mine",), 60.0))
        engine.journal.emit(e.SessionKnown("r2", 1, "r2.1", "s", "mine 1.1", True, False))
    elif why == "tools":
        engine.journal.emit(e.ToolQuarantined("lint", GOOD, "it hangs", "ada"))
    elif why == "operator":
        await carry_out(engine, "stop_comparison", {"comparison": one}, "ada")
    else:
        await carry_out(engine, "stop", {"run": "r1"}, "ada")
        why = "operator"
    count = len(runs_of(engine.journal.state, one))
    if why != "operator":
        end_run(engine, f"r{count}")
    begin_next(engine)
    found = engine.journal.state.comparisons[one]
    assert (found.stopped, len(runs_of(engine.journal.state, one))) == (why, count)
    assert is_over(engine.journal.state, found)
    with pytest.raises(DaemonError, match="c1 is over"):
        await carry_out(engine, "stop_comparison", {"comparison": one}, "ada")


async def test_nobody_interferes_with_a_run_of_a_comparison(engine: Engine) -> None:
    await compare(engine)
    begin_next(engine)
    for verb, args in (
        ("skip", {}),
        ("steer", {"text": "x"}),
        ("budget", {"iterations": 3}),
        ("agent", {"agent": "sweep"}),
    ):
        with pytest.raises(DaemonError, match="nobody interferes with trial 1 of c1") as refused:
            await carry_out(engine, verb, {"run": "r1", **args}, "ada")
        assert refused.value.remedy == "kpd compare stop c1 ends the comparison"
    await carry_out(engine, "note", {"run": "r1", "text": "the fan was replaced"}, "ada")


async def test_a_winner_that_is_held_is_a_persons_once_the_comparison_is_over(engine: Engine) -> None:
    await compare(engine)
    begin_next(engine)
    verdict = Verdict("faster", Gain(3.1, 2.4, 3.8), 7, True, "told", told="faster")
    flagged = Flagged(verdict, (Calls("clock_gettime"),))
    for fact in (
        e.RunStarted("r1", "a cpu", "local"), e.IterationStarted("r1", 1, "mine", 0),
        e.Judged("r1", 1, 0, 0, verdict, flags=flagged.flags), e.IterationEnded("r1", 1, "held", flagged),
    ):  # fmt: skip
        engine.journal.emit(fact)
    for verb in ("accept", "decline"):
        with pytest.raises(DaemonError, match="nobody interferes with trial 1 of c1"):
            await carry_out(engine, verb, {"iteration": "r1.1"}, "ada")
    engine.journal.emit(e.RunEnded("r1", "no_gain", IterationsUsed(1)))
    engine.journal.emit(e.ComparisonStopped("c1", "operator", "ada"))
    await carry_out(engine, "decline", {"iteration": "r1.1"}, "ada")
    assert not engine.journal.state.runs["r1"].held
    with pytest.raises(DaemonError, match="nobody interferes"):
        await carry_out(engine, "rollback", {"iteration": "r1.1"}, "ada")


def test_the_digest_of_settings_is_that_of_what_is_set(engine: Engine) -> None:
    config = engine.config
    empty = replace(config, agents={"claude-code": AgentConfig()})
    assert settings_digest(config, "claude-code") == settings_digest(empty, "claude-code"), "a preset as it is"
    dearer = replace(config, agents={"claude-code": AgentConfig(usd=3.0)})
    assert settings_digest(config, "claude-code") != settings_digest(dearer, "claude-code")


def test_another_preset_has_another_digest(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    before = settings_digest(engine.config, "claude-code")
    newer = replace(CLAUDE_CODE, preset=replace(CLAUDE_CODE.preset, mode="plan"))
    monkeypatch.setitem(catalogue.UNNAMED, "claude-code", newer)
    assert settings_digest(engine.config, "claude-code") != before


def test_the_order_is_drawn_anew_for_each_seed_and_balanced() -> None:
    orders = {drawn(5, seed) for seed in range(1, 50)}
    assert len(orders) > 40 and all(order.count("tools") == 5 for order in orders)
    of_two = {drawn(2, seed) for seed in range(1, 200)}
    assert len(of_two) == 4 and not of_two & set(in_blocks(2)), "all but the two with one side wholly first"
