"""What a run does next: a pure function of the run, so that a restart decides the same."""

from dataclasses import dataclass
from math import prod

from kpd.model.nouns import Iteration, Run, RunOutcome


@dataclass(frozen=True, slots=True)
class Iterate:
    """Begin (or, after a restart, go on with) iteration `number` by `agent`."""

    number: int
    agent: str
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do until a person acts."""

    reason: str


@dataclass(frozen=True, slots=True)
class End:
    """The run is over."""

    outcome: RunOutcome
    reason: str


SWEEP = "sweep"
MOST_EXPLORED = 8
"""Points of one iteration's parameters that a sweep tries before the next agent's turn."""
COUNTED = ("accepted", "rejected", "failed")
"""Outcomes that use up budget; infrastructure trouble, skips and interruptions do not."""


def next_of(run: Run, direction: str = "lower") -> Iterate | Wait | End:
    """An unfinished iteration first, then the baseline, then the operator's edit, then the agent, within the budget."""
    if (current := run.current) is not None:
        return Iterate(current.number, current.agent, resumed=True)
    number = run.iterations[-1].number + 1 if run.iterations else 0
    if run.incumbent is None:
        if any(it.agent == "baseline" and it.outcome in ("failed", "rejected") for it in run.iterations):
            return End("failed", f"the baseline does not hold: {run.iterations[-1].reason}")
        return Iterate(number, "baseline")
    if run.pending_edit:
        return Iterate(number, "operator")
    if (reason := _spent(run, direction)) is not None:
        return End(result(run), reason)
    if run.agent == "operator":
        return Wait("waiting for an edit of the task folder")
    return Iterate(number, _turn(run))


def explored(run: Run, number: int) -> Iteration | None:
    """The iteration whose unsure parameters a sweep in iteration `number` explores: the newest of another agent.

    None when that has left none, or could not be measured.
    """
    for it in reversed(run.iterations):
        if it.number < number and it.agent not in (SWEEP, "operator"):
            return it if it.tune and it.score is not None else None
    return None


def _turn(run: Run) -> str:
    """Whose turn it is: a sweep goes on where another agent was unsure, the others propose one after another."""
    others = [agent for agent in run.agents if agent != SWEEP]
    if not others:
        return SWEEP
    if SWEEP in run.agents and _to_explore(run):
        return SWEEP
    last = next((it.agent for it in reversed(run.iterations) if it.agent in others), others[-1])
    return others[(others.index(last) + 1) % len(others)]


def _to_explore(run: Run) -> bool:
    number = run.iterations[-1].number + 1
    unsure = explored(run, number)
    if unsure is None:
        return False
    sweeps = [it for it in run.iterations if it.number > unsure.number and it.agent == SWEEP]
    points = prod(len(values) for values in unsure.tune.values())
    return all(it.outcome != "skipped" for it in sweeps) and len(sweeps) < min(points - 1, MOST_EXPLORED)


def result(run: Run) -> RunOutcome:
    """`improved` when something better than the baseline is the incumbent."""
    baseline = run.baseline
    if run.incumbent is None or baseline is None:
        return "failed"
    return "no_gain" if run.incumbent == baseline.number else "improved"


def counted(run: Run) -> list[Iteration]:
    """The iterations that count against the budget."""
    return [it for it in run.iterations if it.outcome in COUNTED]


def _spent(run: Run, direction: str) -> str | None:
    done, budget = counted(run), run.budget
    best = run.best
    if best is not None and best.score is not None and budget.stop_score is not None:
        reached = best.score <= budget.stop_score if direction == "lower" else best.score >= budget.stop_score
        if reached:
            return f"stop score {budget.stop_score:g} reached: {best.score:g}"
    if len(done) >= budget.iterations:
        return f"budget of {budget.iterations} iterations used"
    without = 0
    for it in reversed(done):
        if it.outcome == "accepted":
            break
        without += 1
    if without >= budget.patience:
        return f"{without} iterations without a gain (patience {budget.patience})"
    return None
