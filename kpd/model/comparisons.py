"""Defines the facts of comparisons, and decides which of their runs comes next: a pure function of the state."""

from dataclasses import dataclass, replace

from kpd.model.budget import Budget
from kpd.model.comparison import ComparisonStop, ToolComparison
from kpd.model.fact import Fact
from kpd.model.reducers import reduces
from kpd.model.run import Run
from kpd.model.side import ComparedRun, Side
from kpd.model.state import State


@dataclass(frozen=True, slots=True)
class ComparisonQueued(Fact):
    """A new comparison; the fields are those of `ToolComparison`. It comes before all of its runs."""

    comparison: str
    task: str
    agent: str
    host: str
    budget: Budget
    order: tuple[Side, ...]
    tools: tuple[str, ...]
    seed: int
    files: dict[str, str]
    settings: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class ComparisonStopped(Fact):
    """The early end of a comparison: no further run of it begins."""

    comparison: str
    why: ComparisonStop
    by: str = ""


def runs_of(state: State, comparison: str) -> tuple[Run, ...]:
    """Return the runs of a comparison so far, in its order."""
    return tuple(run for run in state.runs.values() if run.compared is not None and run.compared.of == comparison)


def next_run(state: State, comparison: ToolComparison) -> ComparedRun | None:
    """Return the place of the run that is to be queued now; None while one is under way, and at the end."""
    so_far = runs_of(state, comparison.id)
    if comparison.stopped or len(so_far) == len(comparison.order) or not all(run.over for run in so_far):
        return None
    side = comparison.order[len(so_far)]
    return ComparedRun(comparison.id, len(so_far) + 1, side, comparison.tools if side == "tools" else ())


def is_over(state: State, comparison: ToolComparison) -> bool:
    """Return whether all runs of a comparison have ended, or those that had begun when it was stopped."""
    so_far = runs_of(state, comparison.id)
    whole = bool(comparison.stopped) or len(so_far) == len(comparison.order)
    return whole and all(run.over for run in so_far)


@reduces(ComparisonQueued)
def _queued(state: State, at: float, fact: ComparisonQueued) -> State:
    made = ToolComparison(
        fact.comparison, fact.task, fact.agent, fact.host, fact.budget, fact.order, fact.tools, fact.seed, at,
        fact.files, fact.settings,
    )  # fmt: skip
    return replace(state, comparisons={**state.comparisons, made.id: made})


@reduces(ComparisonStopped)
def _stopped(state: State, at: float, fact: ComparisonStopped) -> State:
    if (found := state.comparisons.get(fact.comparison)) is None:
        return state
    return replace(state, comparisons={**state.comparisons, found.id: replace(found, stopped=fact.why)})
