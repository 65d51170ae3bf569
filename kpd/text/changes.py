"""Renders what changed between two profiles."""

from kpd.model.kinds import Told
from kpd.model.metrics import describe
from kpd.model.profiles import Change


def change(found: Change) -> str:
    """Format a change of a metric, as in `DRAM traffic: down from 8 to 6 MB (-25 %)`."""
    if isinstance(found, Told):
        return found.text
    metric, old, new = describe(found.metric), found.before, found.after
    label = metric.label if metric is not None else found.metric
    unit = f" {metric.unit}" if metric is not None and metric.unit else ""
    if new == 0:
        return f"{label}: {_short(old)}{unit}, now none"
    if old == 0:
        return f"{label}: none before, now {_short(new)}{unit}"
    way = "up" if new > old else "down"
    return f"{label}: {way} from {_short(old)} to {_short(new)}{unit}{_by(old, new)}"


def _by(old: float, new: float) -> str:
    ratio = new / old if old else 0.0
    if ratio >= 2:
        return f" ({ratio:.1f} times)"
    return f" ({100 * (ratio - 1):+.0f} %)" if ratio > 0 else ""


def _short(value: float) -> str:
    return f"{value:.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:.3g}"
