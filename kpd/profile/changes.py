"""What moved between two profiles, in plain words, the largest change first."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from kpd.model.metrics import Metric, describe, parted

SMALLEST = 0.02
"""A metric that moved by less than this share is taken not to have moved."""
OF_CEILING = 0.005
"""Nor is one that has a ceiling and moved by less than this share of it: a tenfold change of next to nothing."""
LEAST = 0.05
"""Below this share of its ceiling a metric ranks as if it were there: whatever it does there, little depends on it."""


@dataclass(frozen=True, slots=True)
class Change:
    """One metric that moved. `verdict` follows from which way is better; empty where neither is, or it is new."""

    name: str
    before: float
    after: float
    verdict: Literal["better", "worse", ""]
    text: str


def changes(before: Mapping[str, float], after: Mapping[str, float]) -> tuple[Change, ...]:
    """The catalogued metrics that both have and that moved, ranked by their ratio; to or from nothing comes first.

    A case's metric is left out when that of all cases moved the same way: it says no more.
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
            moved[name] = Change(name, old, new, _verdict(metric, old, new), _text(metric, old, new))
    told = [change for name, change in moved.items() if not _said_of_all(change, moved.get(parted(name)[0]))]
    return tuple(sorted(told, key=lambda change: (-_rank(change), change.name)))


def _moved(metric: Metric, old: float, new: float) -> bool:
    return _size(old, new) > SMALLEST and (metric.ceiling is None or abs(new - old) > OF_CEILING * metric.ceiling)


def _said_of_all(change: Change, whole: Change | None) -> bool:
    if whole is None or whole is change:
        return False
    return (change.after > change.before) == (whole.after > whole.before)


def _size(old: float, new: float) -> float:
    """0 for no change; symmetric, so that a doubling ranks with a halving."""
    if old == new:
        return 0.0
    return abs(math.log(new) - math.log(old)) if old > 0 and new > 0 else math.inf


def _rank(change: Change) -> float:
    metric = describe(change.name)
    least = LEAST * metric.ceiling if metric is not None and metric.ceiling is not None else 0.0
    return _size(max(change.before, least), max(change.after, least))


def _verdict(metric: Metric, old: float, new: float) -> Literal["better", "worse", ""]:
    if metric.better is None:
        return ""
    return "better" if (new > old) == (metric.better == "up") else "worse"


def _text(metric: Metric, old: float, new: float) -> str:
    unit = f" {metric.unit}" if metric.unit else ""
    if new == 0:
        return f"{metric.label}: {_short(old)}{unit}, now none"
    if old == 0:
        return f"{metric.label}: none before, now {_short(new)}{unit}"
    way = "up" if new > old else "down"
    return f"{metric.label}: {way} from {_short(old)} to {_short(new)}{unit}{_by(old, new)}"


def _by(old: float, new: float) -> str:
    ratio = new / old if old else 0.0
    if ratio >= 2:
        return f" ({ratio:.1f} times)"
    return f" ({100 * (ratio - 1):+.0f} %)" if ratio > 0 else ""


def _short(value: float) -> str:
    return f"{value:.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:.3g}"
