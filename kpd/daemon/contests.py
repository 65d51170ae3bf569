"""Answers queries about contests: one iteration beside those it is compared with, and the cases of a run."""

from collections.abc import Mapping
from typing import Any

from kpd.daemon.sources import Sources
from kpd.model.case_matrix import case_matrix, case_speedups, dispatch
from kpd.model.detail import Detail
from kpd.model.facts.steps import Timed
from kpd.model.headline import chained, headline, lineage
from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.operations.references import iteration_ref, run_ref
from kpd.profile.paired import baseline_beside, beside
from kpd.text import json_views


def show(sources: Sources, iteration: str) -> Any:
    run, it = iteration_ref(sources.state, iteration)
    parent = parent_of(run, it)
    found, before = sources.detail(run, it.number), None
    baseline = _baseline(sources, run, it, found)
    if parent is not None:
        found, before = beside(found, sources.detail(run, parent.number))
    return {
        "run": json_views.run(run),
        "iteration": json_views.iteration(it),
        "detail": json_views.found(found),
        "parent": None if before is None else json_views.found(before),
        "baseline": None if baseline is None else json_views.found(baseline),
        "headline": json_views.headlined(headline(run, it.number)),
        "folder": str(sources.folder(run, it.number).folder),
    }


def parent_of(run: Run, iteration: Iteration) -> Iteration | None:
    """Return the iteration that an iteration started from; None for a baseline."""
    return None if iteration.parent == iteration.number else run.iteration(iteration.parent)


def _baseline(sources: Sources, run: Run, it: Iteration, found: Detail) -> Detail | None:
    """Return the baseline with its times in the contest of iteration `it`, by the chain of speed-ups between them."""
    if run.baseline is None:
        return None
    baseline = sources.detail(run, run.baseline.number)
    if it.number == run.baseline.number:
        return baseline
    details = {one.number: sources.detail(run, one.number) for one in lineage(run, it.number)} | {it.number: found}
    timed = {number: detail.timed for number, detail in details.items() if detail.timed is not None}
    speedups = {case: one.ratio for case, one in case_speedups(run, it.number, timed).items()}
    if (whole := chained(run, it.number)) is not None:
        speedups[""] = whole.ratio
    return baseline_beside(found, baseline, speedups)


def cases(sources: Sources, run: str | None = None) -> Any:
    """Return the matrix of cases and candidates of the named run, else of the newest."""
    state = sources.state
    of = run_ref(state, run) if run is not None else run_ref(state)
    with sources.log(of.id) as log:
        facts = [event.fact for event in log.read(run=of.id, kind=Timed.kind())] if log else []
    return matrix_of(of, {fact.iteration: fact for fact in facts if isinstance(fact, Timed)})


def matrix_of(of: Run, timed: Mapping[int, Timed]) -> dict[str, Any]:
    """Return the run's matrix, the slowest case of its incumbent first; `timed` has the times of its iterations."""
    matrix = sorted(case_matrix(of, timed), key=lambda row: row.ratio(of.incumbent))
    rows = [{"case": row.case, "weight": row.weight, "best": row.best, "speedups": row.speedups} for row in matrix]
    return {"run": of.id, "incumbent": of.incumbent, "dispatch": dispatch(matrix, of.incumbent), "cases": rows}
