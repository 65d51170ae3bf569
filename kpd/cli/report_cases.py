"""Formats the times of an iteration's cases as a table. Pure: answers in, lines out."""

from collections.abc import Iterator
from typing import Any

from kpd.cli.terminal_text import table
from kpd.model.profiles import MANY_CASES
from kpd.model.verdicts import Gain, ratio_of
from kpd.text import numbers
from kpd.text.gains import cell, times

Answer = dict[str, Any]
ON_CPU = ("CASE", "µs", "INCUMBENT µs", "SPEED-UP", "ROOFLINE µs", "OF ROOFLINE")
ON_GPU = ("CASE", "EVENT µs", "DEVICE µs", "LAUNCH", "WARM µs", "INCUMBENT", "SPEED-UP", "ROOF")


def table_of_cases(detail: Answer, limit: int | None) -> Iterator[str]:
    """Yield a table with a row per case; on a GPU with the time as launched and the time on the device."""
    cases = detail["timed"]["cases"] if detail["timed"] else []
    if not cases:
        return
    if len(cases) > MANY_CASES:
        cases = sorted(cases, key=lambda case: float(case["gain_pct"]))
    on_gpu = any(case["device_us"] is not None for case in cases)
    head = ON_GPU if on_gpu else ON_CPU
    rows = [(_on_gpu if on_gpu else _on_cpu)(case) for case in cases]
    yield from table(head, rows, limit, right=" ".join(title.replace(" ", "_") for title in head[1:]))


def _on_cpu(case: Answer) -> tuple[str, ...]:
    times = numbers.number(case["candidate_us"]), numbers.number(case["incumbent_us"])
    return (case["case"], *times, _gain(case), numbers.number(case["roofline_us"]), _of_roofline(case))


def _on_gpu(case: Answer) -> tuple[str, ...]:
    event, device, warm, before = (
        numbers.number(case[name]) for name in ("candidate_us", "device_us", "warm_us", "incumbent_us")
    )
    return case["case"], event, device, _launching(case), warm, before, _gain(case), _of_roofline(case)


def _launching(case: Answer) -> str:
    if case["device_us"] is None or not case["candidate_us"]:
        return ""
    return f"{100 * max(0.0, 1 - case['device_us'] / case['candidate_us']):.0f} %"


def _gain(case: Answer) -> str:
    if case["low_pct"] is None:
        return times(ratio_of(case["gain_pct"]))
    return cell(Gain(case["gain_pct"], case["low_pct"], case["high_pct"]))


def _of_roofline(case: Answer) -> str:
    floor = case["roofline_us"]
    return f"{100 * floor / case['candidate_us']:.0f} %" if floor else ""
