"""Profiles a candidate on a CPU: counters, compiler remarks, assembly."""

import math
from collections.abc import Callable, Mapping, Sequence

from kpd.measure.bench import Bench, CompilerListing
from kpd.model.facts.steps import Timed
from kpd.model.profiles import Finding
from kpd.profile import assembly, counters, remarks, rules, speed
from kpd.profile.cpu_rules import CPU_RULES
from kpd.profile.profile import Profile
from kpd.profile.rules import Rule

FAR_PCT = 50.0
NEAR_PCT = 80.0
"""From this share of the roofline on, little can be gained."""


async def measured(
    bench: Bench, built: str, timed: Timed, job: str, say: Callable[[str], None], advised: bool = True
) -> Profile:
    """Profile a candidate on a CPU: see `profile.ProfileCandidate`."""
    listing = await bench.listing(built)
    ran = await bench.counted(built, job, counters.script, say)
    if ran.reason:
        counted: tuple[dict[str, float], dict[str, str]] = {}, dict.fromkeys(counters.WAYS, f"perf stat: {ran.reason}")
    else:
        counted = counters.read(ran.stdout.decode(errors="replace"), ran.stderr.decode(errors="replace"))
    metrics: dict[str, float] = {}
    missing: dict[str, str] = {}
    for found, lacking in (*_known(bench, timed, listing), counted):
        metrics |= found
        missing |= lacking
    return Profile(metrics, missing)


async def uncounted(bench: Bench, built: str, timed: Timed) -> dict[str, float]:
    """Read the metrics that need no counters: see `profile.TimedMetrics`."""
    metrics: dict[str, float] = {}
    for found, _ in _known(bench, timed, await bench.listing(built)):
        metrics |= found
    return metrics


def _known(bench: Bench, timed: Timed, listing: CompilerListing) -> tuple[tuple[dict[str, float], dict[str, str]], ...]:
    """Return the metrics, and the reasons for missing ones, of the timing, the assembly and the compiler's remarks."""
    return speed.read(timed.cases, bench.work), assembly.read(listing.assembly), remarks.read(listing.remarks)


def findings(metrics: Mapping[str, float], known: Sequence[Rule] = CPU_RULES) -> tuple[Finding, ...]:
    """Return the findings of the known rules that fire, the severest first."""
    return rules.apply(known, metrics)


def limit(metrics: Mapping[str, float]) -> str:
    """Name what limits the candidate: memory, arithmetic, or latency when it is far from both; empty if unknown."""
    of_all = metrics.get("roofline_pct", math.nan)
    if not math.isfinite(of_all):
        return ""
    return "latency bound" if of_all < FAR_PCT else f"{speed.limited_by(metrics)} bound"


def bottleneck(metrics: Mapping[str, float]) -> str:
    """Describe in one line what limits the candidate."""
    metrics = {name: value for name, value in metrics.items() if math.isfinite(value)}
    if not (what := limit(metrics)):
        return "unknown: the task gives no roofline" + _ipc(metrics)
    of_all = metrics["roofline_pct"]
    room = ", little room left" if of_all >= NEAR_PCT else ", some room left"
    return f"{what}: {of_all:.0f} % of the roofline{speed.rates(metrics)}{_ipc(metrics) if of_all < FAR_PCT else room}"


def _ipc(metrics: Mapping[str, float]) -> str:
    return f", {metrics['ipc']:.2f} instructions a cycle" if "ipc" in metrics else ""
