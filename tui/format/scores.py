"""Formats a run's scores: their unit, and the gain so far."""

from kpd.model import scores
from kpd.model.headline import headline
from kpd.model.run import Run
from kpd.model.state import State
from kpd.text.gains import times
from tui.format.text import clean


def unit(state: State, run: Run) -> str:
    """Return the unit of the run's scores; a task that no longer exists is assumed to be timed."""
    card = state.tasks.get(run.task)
    return scores.unit() if card is None else clean(scores.unit(card.score))


def won(run: Run) -> str:
    """Format how many times as fast as the baseline the incumbent is: `1.37×`; empty where it is the baseline.

    Where the task's own files were not right: `1.37× over r1.3`.
    """
    found = headline(run)
    if found is None:
        return ""
    return times(found.speedup.ratio) + ("" if found.first is None else f" over {run.id}.{found.first}")
