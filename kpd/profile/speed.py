"""Compares the times of a candidate's cases with the limits of the machine."""

from collections.abc import Mapping, Sequence

from kpd.measure.score import CaseWork
from kpd.model.metrics import of_case
from kpd.model.profiles import CaseTime

ALWAYS_MEMORY = 1.0
"""No processor computes fewer floating-point operations than this for each byte its memory delivers."""


def read(cases: Sequence[CaseTime], work: Mapping[str, CaseWork]) -> tuple[dict[str, float], dict[str, str]]:
    """Compute the metrics of all cases together and of each, and the reason for each metric that is missing.

    Sums over the cases weigh them by their time, as running all of them once would.
    """
    if not cases:
        return {}, {"roofline_pct": "nothing was timed"}
    total_us = sum(case.candidate_us for case in cases)
    metrics = {"call_us": total_us / len(cases)}
    missing: dict[str, str] = {}
    moved, computed = sum(case.bytes or 0 for case in cases), sum(case.flops or 0 for case in cases)
    for name, amount, key in (("gbs", moved, "bytes"), ("gflops", computed, "flops")):
        if amount:
            metrics[name] = amount / total_us / 1000
        else:
            missing[name] = f"task.toml's [roofline] counts no {key}"
    if moved and computed:
        metrics["intensity"] = computed / moved
    for name, limited, lacking in (
        ("roofline_pct", ("memory", "compute", ""), "no case has a roofline"),
        ("memory_roofline_pct", ("memory",), "no case is known to be limited by memory"),
        ("compute_roofline_pct", ("compute",), "no case is known to be limited by arithmetic"),
    ):
        share = _share([case for case in cases if limit(case, work) in limited])
        if share is None:
            missing[name] = lacking
        else:
            metrics[name] = share
    for case in cases:
        metrics |= _one(case)
    shares = [100 * case.roofline_us / case.candidate_us for case in cases if case.roofline_us]
    if len(shares) > 1:
        metrics |= {"worst_roofline_pct": min(shares), "best_roofline_pct": max(shares)}
    return metrics, missing


def limit(case: CaseTime, work: Mapping[str, CaseWork]) -> str:
    """Return whether "memory" or "compute" sets the case's roofline; empty when that is not known."""
    if not case.roofline_us:
        return ""
    compute_us = work.get(case.case, CaseWork()).compute_us
    if compute_us is not None:
        return "compute" if compute_us >= case.roofline_us else "memory"
    return "memory" if case.bytes and (case.flops or 0) < ALWAYS_MEMORY * case.bytes else ""


def limited_by(metrics: Mapping[str, float]) -> str:
    """Return the side of the roofline that the candidate is closest to: "memory" or "compute".

    Returns "roofline" when neither is known.
    """
    memory, compute = metrics.get("memory_roofline_pct"), metrics.get("compute_roofline_pct")
    if memory is None and compute is None:
        return "roofline"
    return "compute" if memory is None or (compute is not None and compute > memory) else "memory"


def rates(metrics: Mapping[str, float]) -> str:
    """Format the traffic and arithmetic in brackets, as far as they are known."""
    units = (("gbs", "GB/s"), ("gflops", "GFLOP/s"))
    rates = [(metrics[name], unit) for name, unit in units if name in metrics]
    found = [f"{rate:,.0f} {unit}" if rate >= 100 else f"{rate:.3g} {unit}" for rate, unit in rates]
    return f" ({', '.join(found)})" if found else ""


def _share(cases: Sequence[CaseTime]) -> float | None:
    """Compute the least time of the cases that have a roofline, as percent of the time they took."""
    pairs = [(case.roofline_us, case.candidate_us) for case in cases if case.roofline_us]
    return 100 * sum(least for least, _ in pairs) / sum(took for _, took in pairs) if pairs else None


def _one(case: CaseTime) -> dict[str, float]:
    found = {
        "call_us": case.candidate_us,
        "gbs": case.bytes and case.bytes / case.candidate_us / 1000,
        "gflops": case.flops and case.flops / case.candidate_us / 1000,
        "roofline_pct": case.roofline_us and 100 * case.roofline_us / case.candidate_us,
    }
    return {of_case(name, case.case): value for name, value in found.items() if value}
