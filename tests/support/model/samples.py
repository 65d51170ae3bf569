"""Nouns for tests, with the uninteresting fields filled in."""

from dataclasses import replace
from pathlib import Path

from kpd.model.budget import Budget
from kpd.model.causes import IterationCause
from kpd.model.hosts import Need
from kpd.model.iteration import Iteration
from kpd.model.kinds import Told
from kpd.model.run import Run
from kpd.model.status import Done, IterationStatus, Outcome, Running, Stepping
from kpd.workspace.specs import BenchSpec, BudgetSpec, BuildSpec, CheckSpec, RooflineSpec
from kpd.workspace.task import Task

NO_CAUSE = Told("")


def done(outcome: Outcome | None, cause: IterationCause = NO_CAUSE, at: float = 0.0) -> IterationStatus:
    """The status of an iteration with this outcome; without one it has not come to its first step yet."""
    return Stepping() if outcome is None else Done(outcome, cause, at)


def task_of(folder: Path, tune: dict[str, tuple[str, ...]], editable: tuple[str, ...] = ("kernel.c",)) -> Task:
    return Task(
        name=folder.name, folder=folder, summary="", language="c", editable=editable, protected=("harness.c",),
        build=BuildSpec(), check=CheckSpec(), bench=BenchSpec(), need=Need(), budget=BudgetSpec(), tune=tune,
        roofline=RooflineSpec(),
    )  # fmt: skip


def run_of(*iterations: Iteration, **fields: object) -> Run:
    accepted = [it.number for it in iterations if it.outcome in ("baseline", "accepted")]
    given = {"status": Running(), "incumbent": accepted[-1] if accepted else None, **fields}
    budget = given.pop("budget", Budget())
    return Run("r1", "task", "sweep", "local", budget, 0.0, iterations=iterations, **given)  # type: ignore[arg-type]


def confirmed(run: Run) -> Run:
    """The run, once its incumbent has been measured against the baseline."""
    assert run.incumbent is not None
    number = run.iterations[-1].number + 1
    it = Iteration(number, "again", 0, 0.0, status=done("measured"), again=run.incumbent, confirming="end")
    return replace(run, iterations=(*run.iterations, it))
