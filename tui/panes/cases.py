"""Draws the cases of an iteration: their times, and the share of launching on a GPU."""

from textual.content import Content

from kpd.model.detail import Detail
from kpd.model.iteration import Iteration
from kpd.model.profiles import MANY_CASES, CaseTime
from kpd.model.verdicts import ratio_of
from kpd.text.gains import cell, times
from kpd.text.numbers import counted
from tui.format.numbers import figure, percent
from tui.format.table import Cell, Column, table
from tui.format.text import clean
from tui.panes.parts import heading

WIDE = 64
MUCH_LAUNCHING = 20.0
"""Percentage of a call from which launching is highlighted."""

_CPU = (
    Column("case", right=False),
    Column("candidate µs", keep=8),
    Column("incumbent µs", keep=5),
    Column("speed-up", keep=7),
    Column("roofline", keep=6),
)
_CPU_SHORT = tuple(
    Column(title, column.right, column.keep)
    for title, column in zip(("case, µs", "cand.", "inc.", "×", "roof"), _CPU, strict=True)
)
_GPU = (
    Column("case, µs", right=False, least=11),
    Column("event", keep=9),
    Column("device", keep=8),
    Column("launch", keep=7),
    Column("warm", keep=3),
    Column("inc.", keep=2),
    Column("speed-up", keep=6),
    Column("roof", keep=4),
)
_HOST = Column("host", keep=3)


def cases(it: Iteration, detail: Detail, width: int) -> list[Content]:
    """Draw a row for each case; the time of a whole call stands beside that of the device, where both are known."""
    if detail.timed is None:
        return [heading("Cases", (_why_none(it), ".muted"))]
    timed = detail.timed
    fresh = counted(timed.processes, "fresh process")
    again = f", {timed.retaken} retaken" if timed.retaken else ""
    listed = sorted(timed.cases, key=lambda case: case.gain_pct) if len(timed.cases) > MANY_CASES else timed.cases
    order = f", {len(listed)}, the worst first" if len(timed.cases) > MANY_CASES else ""
    found = [heading("Cases", (f"medians over {fresh}{again}{order}", ".muted"))]
    if not listed:
        return found
    if any(case.device_us is not None for case in listed):
        in_python = any(case.host_us is not None for case in listed)
        columns = tuple(_HOST if column.title == "warm" and in_python else column for column in _GPU)
        return [*found, *table(columns, [_on_a_gpu(case) for case in listed], width)]
    rows = [_row(case) for case in listed]
    return [*found, *table(_CPU if width >= WIDE else _CPU_SHORT, rows, width)]


def _why_none(it: Iteration) -> str:
    if it.score is not None:
        return "are being read"
    return "appear when this iteration is timed" if it.outcome is None else "none: it ended before it was timed"


def launching(case: CaseTime) -> float | None:
    """Compute the percentage of a call in which the device does not work; None where the device's time is not known."""
    if case.device_us is None or not case.candidate_us:
        return None
    return max(0.0, 1 - case.device_us / case.candidate_us) * 100


def _row(case: CaseTime) -> list[Cell]:
    return [clean(case.case), figure(case.candidate_us), figure(case.incumbent_us), _gain(case), _roofline(case)]


def _on_a_gpu(case: CaseTime) -> list[Cell]:
    lost = launching(case)
    style = ".muted" if lost is None or lost < MUCH_LAUNCHING else ".warn"
    return [
        clean(case.case), figure(case.candidate_us), figure(case.device_us), (percent(lost), style),
        figure(case.host_us or case.warm_us), figure(case.incumbent_us), _gain(case), _roofline(case),
    ]  # fmt: skip


def _gain(case: CaseTime) -> Cell:
    if (gain := case.gain) is not None:
        return cell(gain), ".good" if gain.low > 0 else ".bad" if gain.high < 0 else ".muted"
    style = ".good" if case.gain_pct > 0.5 else ".bad" if case.gain_pct < -0.5 else ".muted"
    return times(ratio_of(case.gain_pct)), style


def _roofline(case: CaseTime) -> str:
    return percent(case.roofline_us / case.candidate_us * 100 if case.roofline_us and case.candidate_us else None)
