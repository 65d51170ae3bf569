"""Profiles a candidate that has been judged, and explains it: two steps of an iteration."""

from collections.abc import Iterable

from kpd.engine import builds
from kpd.engine.attempt import Attempt
from kpd.model import events as e
from kpd.model.detail import Detail
from kpd.profile.catalogue import profiler_of
from kpd.profile.changes import changes
from kpd.profile.paired import MOST_CHANGES, bottleneck_beside, incumbent_metrics
from kpd.profile.profile import Profile


async def profile(attempt: Attempt, found: Detail) -> e.Profiled:
    assert found.timed is not None
    built = await builds.candidate(attempt, found)
    profiler = profiler_of(attempt.bench.device.kind)
    if is_counted(attempt, found):
        stays = _stays(attempt, found)
        known = await profiler.measured(
            attempt.bench, built.job, found.timed, attempt.job("perf"), attempt.say("job"), advised=stays
        )
    else:
        known = Profile(
            await profiler.uncounted(attempt.bench, built.job, found.timed), {"counters": _uncounted(attempt, found)}
        )
    for name, content in known.files.items():
        attempt.keep(name, content)
    attempt.keep("metrics.json", {"metrics": known.metrics, "missing": known.missing, "advice": known.advice})
    return e.Profiled(attempt.run_id, attempt.number, 0.0, 0.0, known.metrics, known.missing, known.advice)


def is_counted(attempt: Attempt, found: Detail) -> bool:
    """Return whether the candidate is profiled with counters."""
    return not _uncounted(attempt, found)


def _uncounted(attempt: Attempt, found: Detail) -> str:
    return why_uncounted(attempt.config.run.profile, _stays(attempt, found), found.broken)


def why_uncounted(policy: str, stays: bool, broken: Iterable[e.MeasurementBroken]) -> str:
    """Return why a candidate is profiled without counters; empty if it is with them.

    It `stays` if it is accepted, or the baseline. A profiler that fails costs the counters, and not a candidate that
    has been measured and judged.
    """
    if policy == "never" or (policy == "accepted" and not stays):
        return f'profiling is off for this candidate ([run] profile = "{policy}")'
    failed = [one.trouble.message for one in broken if one.step == "profile"]
    return f"the profiler failed: {failed[-1]}" if failed else ""


def _stays(attempt: Attempt, found: Detail) -> bool:
    """Return whether the candidate is the baseline, or was accepted."""
    judged = found.judged
    return attempt.is_baseline or (judged is not None and judged.verdict.accepted and judged.superseded_by is None)


async def explain(attempt: Attempt, found: Detail) -> e.Explained:
    assert found.profiled is not None
    profiler = profiler_of(attempt.bench.device.kind)
    fired = profiler.findings(found.profiled.metrics)
    attempt.keep("findings.json", fired)
    before = {} if attempt.is_baseline else incumbent_metrics(found, attempt.detail_of(attempt.parent))
    said = bottleneck_beside(profiler, found.profiled.metrics, before, attempt.parent)
    moved = changes(before, found.profiled.metrics)[:MOST_CHANGES]
    return e.Explained(attempt.run_id, attempt.number, 0.0, 0.0, said, fired, moved)
