"""Puts an incumbent's metrics beside a candidate's so that both are of one contest.

Counters do not depend on how fast the host was; times and what is computed from them do. An incumbent was profiled in
its own contest, maybe minutes earlier on a slower or faster host. So its times are those that the candidate's contest
gives it: the candidate's, multiplied by the measured speed-up. They never contradict the verdict.
"""

from collections.abc import Mapping
from dataclasses import replace
from statistics import fmean

from kpd.model.detail import Detail
from kpd.model.metrics import describe, of_case, parted
from kpd.model.profiles import CaseTime
from kpd.model.verdicts import ratio_of
from kpd.profile.changes import changes
from kpd.profile.profile import Profiler

Metrics = Mapping[str, float]
TIMES = ("call_us", "event_us")
RATES = ("gbs", "gflops", "roofline_pct", "memory_roofline_pct", "compute_roofline_pct")
FIXED = ("intensity",)
"""Metrics of the group "speed" that no time goes into."""
TIMED = frozenset(("roofline_pct", "event_us"))
"""Metrics in the description of a bottleneck that depend on how fast the host was."""
MOST_CHANGES = 8


def incumbent_metrics(found: Detail, incumbent: Detail) -> dict[str, float]:
    """Return the metrics of the incumbent, with its times in the contest of the candidate `found`.

    A time that this contest did not measure for the incumbent is left out. Empty where one of them was not profiled.
    """
    if found.timed is None or found.judged is None or found.profiled is None or incumbent.profiled is None:
        return {}
    speedups = {case.case: ratio_of(case.gain_pct) for case in found.timed.cases}
    speedups[""] = found.judged.verdict.gain.speedup.ratio
    return _as_fast(found.profiled.metrics, incumbent.profiled.metrics, speedups) | _on_the_device(found.timed.cases)


def bottleneck_beside(profiler: Profiler, mine: Metrics, before: Metrics, parent: int) -> str:
    """Describe what limits a candidate, with what limited its incumbent, iteration `parent`, in the same contest.

    `before` are that one's metrics there. A share of the roofline depends on how fast the host was: one that stands
    alone is marked as measured then.
    """
    said = profiler.bottleneck(mine)
    if "roofline_pct" not in before:
        return f"{said}, as measured then" if TIMED & mine.keys() and profiler.limit(mine) else said
    limit = profiler.limit(before)
    was = f" and was {limit}" if limit and limit != profiler.limit(mine) else ""
    return f"{said}; iteration {parent} had {before['roofline_pct']:.0f} %{was} in the same contest"


def baseline_beside(found: Detail, baseline: Detail, speedups: Mapping[str, float]) -> Detail:
    """Return the baseline's detail with the times that it would have had in the contest of `found`.

    `speedups` says how many times as fast the candidate is: by case, and "" for all. Other times are left out.
    """
    if found.profiled is None or baseline.profiled is None:
        return baseline
    metrics = _as_fast(found.profiled.metrics, baseline.profiled.metrics, speedups)
    return replace(baseline, profiled=replace(baseline.profiled, metrics=metrics))


def beside(found: Detail, incumbent: Detail) -> tuple[Detail, Detail]:
    """Return both details as one contest shows them: the incumbent's metrics, and the changes between the two."""
    if found.profiled is None or incumbent.profiled is None:
        return found, incumbent
    before = incumbent_metrics(found, incumbent)
    if found.explained is not None:
        moved = changes(before, found.profiled.metrics)[:MOST_CHANGES]
        found = replace(found, explained=replace(found.explained, changes=moved))
    return found, replace(incumbent, profiled=replace(incumbent.profiled, metrics=before))


def _as_fast(mine: Metrics, other: Metrics, speedups: Mapping[str, float]) -> dict[str, float]:
    """Return the metrics of another iteration, with its times and rates computed from mine by paired speed-ups."""
    kept = {name: value for name, value in other.items() if not _timed(name)}
    for name, value in mine.items():
        plain, case = parted(name)
        if (by := speedups.get(case)) is not None and by > 0 and plain in TIMES + RATES:
            kept[name] = value * by if plain in TIMES else value / by
    return kept


def _timed(name: str) -> bool:
    """Return whether a metric is a time, or computed from one."""
    metric = describe(name)
    return metric is not None and metric.group == "speed" and parted(name)[0] not in FIXED


def _on_the_device(cases: tuple[CaseTime, ...]) -> dict[str, float]:
    known = {case.case: case.incumbent_device_us for case in cases if case.incumbent_device_us is not None}
    found = {of_case("device_us", case): us for case, us in known.items()}
    return found | ({"device_us": fmean(known.values())} if known and len(known) == len(cases) else {})
