"""Decides whose turn it is: agents take turns, and one of them may search where another was unsure."""

from math import prod

from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.model.status import Done

MOST_EXPLORED = 8
"""The most points of one iteration's parameters that are tried before the next agent's turn."""


def explores(run: Run, agent: str) -> bool:
    """Return whether the agent searches parameters that others were unsure of, instead of having its own turns."""
    return bool(run.explorer) and run.trait(agent).explores


def explored(run: Run, number: int) -> Iteration | None:
    """Find the iteration whose unsure parameters iteration `number` explores: the newest of another agent.

    Returns None when that one left no such parameters, or could not be measured.
    """
    for it in reversed(run.iterations):
        agent = run.trait(it.agent)
        if it.number < number and not agent.explores and not agent.operators:
            return it if it.tune and it.score is not None and it.outcome != "held" else None
    return None


def next_agent(run: Run) -> str | None:
    """Return the agent whose turn it is; None when no agent has anything left to propose.

    The exploring agent goes on where another was unsure; the others propose one after another, without those that had
    nothing left to propose.
    """
    if exploring(run):
        return run.explorer
    others = [agent for agent in run.agents if not explores(run, agent)]
    last = next((it.agent for it in reversed(run.iterations) if it.agent in others), others[-1])
    after = others.index(last) + 1
    done = {it.agent for it in run.iterations if exhausted(it)}
    return next((agent for agent in (*others[after:], *others[:after]) if agent not in done), None)


def exploring(run: Run) -> bool:
    """Return whether an exploration is under way.

    It lasts for a number of points, and only while the incumbent is one of them or the candidate they vary. It is over
    when a person rolls back to an earlier iteration, or chooses another one.
    """
    unsure = explored(run, run.iterations[-1].number + 1) if run.explorer else None
    if unsure is None:
        return False
    since = [it for it in run.iterations if it.number >= unsure.number]
    points_tried = [it for it in since if run.trait(it.agent).explores]
    won = {it.number for it in since if it.outcome == "accepted" or it.override}
    own = {unsure.number, *(it.number for it in points_tried)}
    if not won <= own or run.incumbent not in (won or {unsure.parent}):
        return False
    points = prod(len(values) for values in unsure.tune.values())
    tried = len(points_tried)
    return all(it.outcome != "skipped" for it in points_tried) and tried < min(points - 1, MOST_EXPLORED)


def exhausted(it: Iteration) -> bool:
    return isinstance(it.status, Done) and it.status.exhausted


def without_gain(run: Run) -> int:
    """Return how much of the run's patience is used up, in attempts."""
    return sum(not explores(run, it.agent) for it in run.without_gain)
