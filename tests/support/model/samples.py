"""Nouns for tests, with the uninteresting fields filled in."""

from pathlib import Path

from kpd.model.nouns import Budget, Iteration, Run
from kpd.model.places import Need
from kpd.model.status import Running
from kpd.workspace.specs import BenchSpec, BudgetSpec, BuildSpec, CheckSpec, RooflineSpec
from kpd.workspace.task import Task


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
