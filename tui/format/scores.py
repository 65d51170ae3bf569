"""Formats a run's scores: their unit, and the gain so far."""

import math

from kpd.model import scores
from kpd.model.run import Run
from kpd.model.state import State
from tui.format.text import clean


def unit(state: State, run: Run) -> str:
    """Return the unit of the run's scores; a task that no longer exists is assumed to be timed."""
    card = state.tasks.get(run.task)
    return scores.unit() if card is None else clean(scores.unit(card.score))


def won(state: State, run: Run) -> str:
    """Format how many times as good as the baseline the incumbent is: `1.37×`; empty where it is the baseline."""
    best, baseline = run.best, run.baseline
    if best is None or baseline is None or best is baseline:
        return ""
    factor = scores.speedup(baseline.score, best.score, state.direction(run))
    return "" if factor is None or not math.isfinite(factor) else f"{factor:.2f}×"
