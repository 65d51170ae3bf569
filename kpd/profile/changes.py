"""Computes what changed between two profiles, the largest change first."""

import math
from collections.abc import Mapping

from kpd.model.metrics import Metric, describe, parted
from kpd.model.profiles import MetricChange

SMALLEST = 0.02
"""A metric that moved by less than this share counts as unchanged."""
OF_CEILING = 0.005
"""So does a metric that moved by less than this share of its ceiling: ten times almost nothing is still nothing."""
LEAST = 0.05
"""A metric below this share of its ceiling ranks as if it were at it: changes there matter little."""


def changes(before: Mapping[str, float], after: Mapping[str, float]) -> tuple[MetricChange, ...]:
    """Return the metrics in the catalogue that both profiles have and that moved, the largest ratio first.

    A change to or from zero comes before all others. A case's metric is left out when the metric of all cases moved the
    same way: it adds nothing.
    """
    moved = {}
    for name in before.keys() & after.keys():
        metric, old, new = describe(name), before[name], after[name]
        if (
            metric is not None
            and metric.told
            and math.isfinite(old)
            and math.isfinite(new)
            and _moved(metric, old, new)
        ):
            moved[name] = MetricChange(name, old, new)
    told = [change for name, change in moved.items() if not _said_of_all(change, moved.get(parted(name)[0]))]
    return tuple(sorted(told, key=lambda change: (-round(_rank(change), 6), change.metric)))


def _moved(metric: Metric, old: float, new: float) -> bool:
    return _size(old, new) > SMALLEST and (metric.ceiling is None or abs(new - old) > OF_CEILING * metric.ceiling)


def _said_of_all(change: MetricChange, whole: MetricChange | None) -> bool:
    if whole is None or whole is change:
        return False
    return (change.after > change.before) == (whole.after > whole.before)


def _size(old: float, new: float) -> float:
    """Return the size of a change, 0 for none. It is symmetric: a doubling ranks with a halving."""
    if old == new:
        return 0.0
    return abs(math.log(new) - math.log(old)) if old > 0 and new > 0 else math.inf


def _rank(change: MetricChange) -> float:
    metric = describe(change.metric)
    least = LEAST * metric.ceiling if metric is not None and metric.ceiling is not None else 0.0
    return _size(max(change.before, least), max(change.after, least))
