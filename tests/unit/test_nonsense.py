"""Sentences may say anything: with a renderer that talks nonsense, all is decided and looks as before.

What is compared is what people can do, what is marked and selected, in which colours, what comes next, and what is
remembered; the words of the screens differ, and are to.
"""

import pkgutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from textual.content import Content

import kpd.text
from kpd.daemon import alert
from kpd.engine import plan, watchdog
from kpd.knowledge import memory
from kpd.knowledge.efficacy import efficacy
from kpd.knowledge.patterns import tried
from kpd.model import events as e
from kpd.model.causes import Skipped, Stopped
from kpd.model.detail import detail
from kpd.model.faults import DeclinedBy
from kpd.model.fold import fold
from kpd.model.iteration import Override
from kpd.model.state import State
from kpd.model.status import Ended
from kpd.model.waits import DiskTrouble, ForApproval, PausedBy
from kpd.workspace.paths import Workspace
from tests.support.tui import agents, logs
from tests.support.tui.views import view_of
from tui.actions import confirm
from tui.actions.table import ACTIONS, reason
from tui.format import marks
from tui.format.operator_acts import operator_act
from tui.model.answers import LoadedDetails, Show
from tui.model.filtering import parsed
from tui.model.outline import TreePosition
from tui.panes import bars, hosts, memo, metrics, overview, rules
from tui.panes.next_step import next_lines

NO_SENTENCES = {"kpd.text.json_views", "kpd.text.foreign", "kpd.text.signs", "kpd.text.gains"}
"""Data, signs, and figures in the form in which memory reads them again."""
PANES: tuple[Callable[[Any], Any], ...] = (
    lambda view: bars.header(view, 160),
    lambda view: bars.banner(view, 160),
    lambda view: overview.lines(view, 160, 60),
    lambda view: next_lines(view, 160),
    lambda view: memo.lines(view, 160, 60),
    lambda view: metrics.lines(view, 160, 60),
    lambda view: rules.lines(view, 160, 60),
    lambda view: hosts.lines(view, 160, 60),
)
LOGS: dict[str, Callable[[], logs.Log]] = {
    "running": logs.running,
    "incorrect": logs.incorrect,
    "paused": logs.paused,
    "held": logs.held,
    "ended": logs.ended,
    "edited": logs.edited,
    "claude": agents.claude,
    "overloaded": agents.overloaded,
    "mailbox": agents.mailbox,
    "repairing": agents.repairing,
    "no disk": lambda: logs.running().emit(e.RunPaused("r1", DiskTrouble("no space"), "kpd", infra=True)),
    "skipped": lambda: logs.running().end(6, "skipped", Skipped("ada")),
    "stopped": lambda: logs.running().emit(e.RunEnded("r1", "stopped", Stopped("ada"))),
    "declined": lambda: logs.running().end(6, "rejected", DeclinedBy("ada", "too clever")),
    "by hand": lambda: logs.some().emit(e.Accepted("r1", 5, logs.files("r1", 5), Override("ada"))),
    "review": lambda: review(),
    "resumed": lambda: logs.paused().emit(e.RunResumed("r1", "op")).emit(e.RunPaused("r1", PausedBy("bo"), "bo")),
}  # fmt: skip
FILTERS = ("outcome:rejected", "verdict:slower", "verdict:incorrect", "unroll", "rule:far")


def review() -> logs.Log:
    log = logs.some().at_step(6, "build", "a memo").emit(e.ReviewAsked("r1", 6))
    return log.emit(e.RunWaits("r1", ForApproval("r1", 6)))


def talk_nonsense(patch: pytest.MonkeyPatch) -> int:
    """Put a function that says something else in the place of every renderer, wherever it has been imported to."""
    written = {f"kpd.text.{found.name}" for found in pkgutil.iter_modules(kpd.text.__path__)} - NO_SENTENCES
    replaced = 0
    for module in [found for name, found in sys.modules.items() if name.startswith(("kpd.", "tui."))]:
        for name, value in list(vars(module).items()):
            if isinstance(value, FunctionType) and value.__module__ in written:
                patch.setattr(module, name, _other(value))
                replaced += 1
    return replaced


def _other(renderer: FunctionType) -> Callable[..., str]:
    """Says nothing where the renderer does, and else the same few words, whatever it is about."""
    return lambda *args: "plimp: declined by accepted, paused; stopped by nobody" if renderer(*args) else ""


def styles(lines: Any) -> list[str]:
    found = lines if isinstance(lines, list | tuple) else list(lines)
    return sorted({str(span.style) for line in found if isinstance(line, Content) for span in line.spans})


def decided(log: logs.Log) -> list[Any]:
    """All that is decided of a log, in the UI and in the engine."""
    state = log.state
    view = view_of(log)
    run = state.runs.get("r1")
    assert run is not None
    found: list[Any] = [(action.id, bool(reason(action, view))) for action in ACTIONS]
    found += [marks.of_run(run), *(marks.of_iteration(it, run) for it in run.iterations)]
    found += [confirm.memo_wanted(view), confirm.memo_target(view), confirm.for_review(view)]
    found += [[it.number for it in run.iterations if parsed(text).iteration(run, it)] for text in FILTERS]
    for it in run.iterations:
        of_it = detail(event for event in log.events if getattr(event.fact, "iteration", None) == it.number)
        shown = LoadedDetails(show=Show(it, of_it), acts=tuple(log.events))
        for place in (TreePosition(run.task, run.id, it.number), TreePosition(run.task, run.id)):
            view_there = view_of(log, place, shown=shown)
            found += [styles(pane(view_there)) for pane in PANES]
    for event in log.events:
        done = operator_act(event.fact)
        found.append((done and (done.by, done.does, done.words), alert.worth_telling(event.fact) is None))
    found += [alert.held(state.held) is None, watchdog.idle_devices(state), efficacy([run])]
    return [
        *found,
        plan.next_action(run, "lower") if not isinstance(run.status, Ended) and run.current is None else None,
    ]


@pytest.mark.parametrize("name", LOGS)
def test_nothing_is_decided_by_words(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    log = LOGS[name]()
    before = decided(log)
    assert talk_nonsense(monkeypatch) > 40
    assert decided(log) == before


def remembered(root: Path) -> list[Any]:
    workspace, state = Workspace(root), State()
    for event in logs.edited().events:
        state = fold(state, event)
        if isinstance(event.fact, e.IterationEnded) and event.fact.outcome != "baseline":
            run = state.runs[event.fact.run]
            it = run.iteration(event.fact.iteration)
            assert it is not None
            memory.append(workspace, run, it, event.fact.outcome, event.fact.cause)
    return [(one.name, one.word, one.gain, one.rules) for one in tried(workspace, logs.TASK)]


def test_what_is_remembered_is_read_again_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = remembered(tmp_path / "before")
    assert {word for _, word, _, _ in before} == {"accepted", "no gain", "failed"}
    talk_nonsense(monkeypatch)
    assert remembered(tmp_path / "after") == before
