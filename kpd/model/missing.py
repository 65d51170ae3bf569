"""Groups the metrics that a profile lacks by their reason."""

from collections.abc import Mapping
from dataclasses import dataclass

from kpd.model.metrics import GROUPS, METRICS, parted

MOST_NAMED = 8
"""Up to so many metrics with one reason are named one by one; beyond that, only their groups are."""


@dataclass(frozen=True, slots=True)
class MissingMetrics:
    """`count` metrics are missing for one `reason`; `what` names them, empty where the reason says it all."""

    reason: str
    count: int
    what: str


def missing_by_reason(missing: Mapping[str, str]) -> tuple[MissingMetrics, ...]:
    """Group `Profiled.missing` by reason, the reason with most metrics first. A metric of several cases counts once."""
    names: dict[str, dict[str, None]] = {}
    for name, reason in missing.items():
        names.setdefault(reason, {})[parted(name)[0]] = None
    found = [MissingMetrics(reason, len(of), _named(tuple(of))) for reason, of in names.items()]
    return tuple(sorted(found, key=lambda lack: -lack.count))


def _named(names: tuple[str, ...]) -> str:
    if names == ("all",):  # as older logs have it
        return ""
    if len(names) <= MOST_NAMED:
        return ", ".join(METRICS[name].label if name in METRICS else name for name in names)
    groups = {METRICS[name].group for name in names if name in METRICS}
    return f"{len(names)} metrics: {', '.join(group for group in GROUPS if group in groups)}"
