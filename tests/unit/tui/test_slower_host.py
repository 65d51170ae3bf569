"""Every screen, report and prompt compares within one contest: a host that slows down in between changes no comparison.

The shipped recording is told twice, once as it was recorded and once as if the host had been 1.5 times slower in every
second iteration. Scores and times differ then, and are marked as of their own contest; factors, gains, directions and
what was expected are the same.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kpd.cli.log import cells
from kpd.cli.report import report
from kpd.daemon import views
from kpd.daemon.sources import Sources
from kpd.daemon.store import EventStore
from kpd.demo.recording import load
from kpd.model import codec, events as e
from kpd.model.fold import fold_all
from kpd.model.headline import paired_score
from kpd.model.iteration import Iteration
from kpd.model.metrics import parted
from kpd.model.profiles import CaseTime
from kpd.model.run import Run
from kpd.model.state import State
from kpd.profile.paired import RATES
from kpd.text import json_views
from kpd.workspace.paths import Workspace
from tests.places import ROOT
from tests.support.tui.views import plain
from tui.model.answers import LoadedDetails, Show
from tui.model.feed import LinkState
from tui.model.outline import TreePosition, outline
from tui.model.view import View
from tui.panes import log, memo, metrics, outline as rows, overview, rules

SLOWER = 1.5
SIZES = ((49, 20), (80, 24), (120, 36), (200, 50))
TIMES = ("call_us", "event_us", "device_us", "warm_us")
SHARES = (*RATES, "worst_roofline_pct", "best_roofline_pct")
COMPARISON = re.compile(
    r"[\d.,]+×|[\d.]+ % (?:less|more) time|[+−-]\d+(?:\.\d+)? %|\((?:[\d.]+ times|[+-]\d+ %)\)"
    r"|\b(?:up|down|nowhere|as expected|not as expected|faster|slower|accepted|rejected|near miss|no gain|same)\b"
)


@cache
def told(slower: float) -> tuple[e.Event, ...]:
    events = load(ROOT / "kpd" / "demo" / "h100.tar.xz").events
    return tuple(replace(event, fact=_slowed(event.fact, slower)) for event in events)


def _slowed(fact: e.Fact, by: float) -> e.Fact:
    """The fact, as a host that is `by` times slower in iterations with an odd number would have it."""
    if not isinstance(fact, e.Timed | e.Profiled) or fact.iteration % 2 == 0:
        return fact
    if isinstance(fact, e.Timed):
        cases = tuple(_case(case, by) for case in fact.cases)
        share = None if fact.roofline_pct is None else fact.roofline_pct / by
        return replace(fact, score=fact.score * by, cases=cases, roofline_pct=share)
    return replace(fact, metrics={name: _metric(name, value, by) for name, value in fact.metrics.items()})


def _metric(name: str, value: float, by: float) -> float:
    plain_name = parted(name)[0]
    return value * by if plain_name in TIMES else value / by if plain_name in SHARES else value


def _case(case: CaseTime, by: float) -> CaseTime:
    scaled = {name: getattr(case, name) for name in ("device_us", "warm_us", "incumbent_device_us")}
    known = {name: value * by for name, value in scaled.items() if value is not None}
    return replace(case, candidate_us=case.candidate_us * by, incumbent_us=case.incumbent_us * by, **known)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Sources, Sources]:
    """The workspace as recorded, and as a host that slows down would have left it."""
    as_recorded, slowed = (_sources(tmp_path_factory.mktemp("w"), told(by)) for by in (1.0, SLOWER))
    return as_recorded, slowed


def _sources(folder: Path, events: tuple[e.Event, ...]) -> Sources:
    workspace = Workspace(folder)
    workspace.store.parent.mkdir(parents=True, exist_ok=True)
    with EventStore(workspace.store) as store:
        for event in events:
            store.append(event.fact, event.at)
    return Sources(fold_all(events), workspace)


def numbers() -> list[int]:
    return [it.number for it in fold_all(told(1.0)).runs["r1"].iterations]


def view_at(sources: Sources, number: int | None) -> View:
    state: State = sources.state
    run = state.runs["r1"]
    at = TreePosition(run.task, run.id, number)
    shown = LoadedDetails()
    if number is not None:
        answer = views.answer("show", {"iteration": f"r1.{number}"}, sources)
        events = tuple(event for event in told(1.0) if getattr(event.fact, "iteration", None) == number)
        shown = LoadedDetails(codec.decode(codec.encode(answer), Show), events=events)
    return View(state=state, link=LinkState("up"), at=at, outline=outline(state, {}, at), shown=shown)


def screens(sources: Sources, number: int | None) -> Iterator[str]:
    view = view_at(sources, number)
    for width, height in SIZES:
        for pane in (overview, metrics, rules, memo):
            yield plain(pane.lines(view, width, height))
        yield plain([*rows.header(view, width), *(rows.row_line(view, row, width) for row in view.outline.rows)])
    if number is not None:
        yield plain(log.lines(replace(view, tab="log"), 120, 36))
        answer: dict[str, Any] = views.answer("show", {"iteration": f"r1.{number}"}, sources)
        yield "\n".join(report(answer, 120, False))


@pytest.mark.parametrize("number", [None, *numbers()])
def test_a_host_that_slows_down_changes_no_comparison(both: tuple[Sources, Sources], number: int | None) -> None:
    for before, after in zip(*(screens(sources, number) for sources in both), strict=True):
        assert COMPARISON.findall(after) == COMPARISON.findall(before), after


@pytest.mark.parametrize("number", numbers())
def test_no_screen_contradicts_the_verdict(both: tuple[Sources, Sources], number: int) -> None:
    """What is told of the selected candidate's time has the sign of its verdict; the rest of a screen is of others."""
    for sources in both:
        it = found(sources.state.runs["r1"], number)
        if it.verdict is None or it.outcome == "baseline":
            continue
        answer = views.answer("show", {"iteration": f"r1.{number}"}, sources)
        shown = codec.decode(codec.encode(answer), Show)
        assert shown.parent is not None and shown.parent.profiled is not None and shown.detail.profiled is not None
        mine, before = shown.detail.profiled.metrics, shown.parent.profiled.metrics
        for name in mine.keys() & before.keys():
            if name in ("call_us", "event_us", "roofline_pct", "gbs", "gflops"):
                better = mine[name] < before[name] if name.endswith("_us") else mine[name] > before[name]
                assert better == (it.verdict.gain.pct > 0), name
        first = shown.baseline
        if first is not None and first.profiled is not None and (whole := answer["headline"]) is not None:
            ratio = first.profiled.metrics["call_us"] / mine["call_us"]
            assert ratio == pytest.approx(whole["speedup"]["ratio"], rel=0.1), "in the same contest, too"


def found(run: Run, number: int) -> Iteration:
    it = run.iteration(number)
    assert it is not None
    return it


def test_the_rows_of_kpd_log_and_the_score_that_counts_are_the_same(both: tuple[Sources, Sources]) -> None:
    before, after = (sources.state.runs["r1"] for sources in both)
    assert paired_score(before) == paired_score(after)
    for one, other in zip(before.iterations, after.iterations, strict=True):
        mine, theirs = (list(cells("r1", json_views.iteration(it), False)) for it in (one, other))
        del mine[2], theirs[2]
        assert mine == theirs
    assert any(one.score != other.score for one, other in zip(before.iterations, after.iterations, strict=True))
