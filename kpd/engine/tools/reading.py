"""Tools that read: the task, its incumbent, what earlier iterations found."""

from typing import Any

from kpd.engine import trials
from kpd.engine.tools.desk import Desk
from kpd.engine.tools.tool import Answer
from kpd.model.headline import headline
from kpd.model.profiles import CaseTime
from kpd.text import trials as told
from kpd.text.headlines import headline as told_headline

MOST_CASES = 40
"""The most cases of which an answer lists the times; the rest are counted."""


def inspect(desk: Desk) -> Answer:
    """Describe the task and its incumbent, the program to beat: its cases, their rooflines, its bottleneck.

    `headroom` is the time of a case over the least time that the machine's roofline allows: 1 means nothing is left.
    Times are in microseconds a call, as measured in the incumbent's own contest.
    """
    run, number = desk.run, desk.incumbent
    known, card, won = desk.detail(number), desk.state.tasks.get(run.task), headline(run)
    listed = known.timed.cases if known.timed else ()
    bottleneck = known.explained.bottleneck if known.explained else ""
    lines = [
        f"task {run.task}{f': {card.summary}' if card and card.summary else ''}",
        f"editable: {', '.join(card.editable if card else run.files)}; language {card.language if card else '?'}",
        f"measured on {run.device} of host {run.host}",
        f"incumbent: iteration {number}, {told_headline(won)} over the baseline"
        if won
        else f"incumbent: the baseline, iteration {number}",
        *([f"its bottleneck: {bottleneck}"] if bottleneck else []),
        *map(_case_line, listed[:MOST_CASES]),
    ]
    answer: dict[str, Any] = {
        "run": run.id, "task": run.task, "language": card.language if card else None, "host": run.host,
        "editable": card.editable if card else tuple(run.files), "device": run.device,
        "min_gain_pct": run.budget.min_gain_pct, "incumbent": number, "headline": won, "bottleneck": bottleneck,
        "cases": [_case(one) for one in listed[:MOST_CASES]], "more_cases": max(0, len(listed) - MOST_CASES),
    }  # fmt: skip
    if (place := desk.session) is not None:
        left = trials.left(place.attempt, place.budget)
        bandwidth, arithmetic = place.attempt.bench.peaks
        lines.append(told.left(left))
        answer |= {
            "left": left,
            "peak_gb_s": bandwidth,
            "peak_gflop_s": arithmetic,
            "arch": place.attempt.bench.device.arch,
        }
    return {"text": "\n".join(lines), **answer}


def _headroom(case: CaseTime) -> float | None:
    return case.candidate_us / case.roofline_us if case.roofline_us else None


def _case(case: CaseTime) -> dict[str, Any]:
    return {
        "case": case.case, "us": case.candidate_us, "device_us": case.device_us, "roofline_us": case.roofline_us,
        "headroom": _headroom(case), "bytes": case.bytes, "flops": case.flops, "weight": case.weight,
    }  # fmt: skip


def _case_line(case: CaseTime) -> str:
    room = _headroom(case)
    rest = f", roofline {case.roofline_us:.4g} µs, headroom {room:.2f}×" if room and case.roofline_us else ""
    return f"- {case.case}: {case.candidate_us:.4g} µs{rest}"
