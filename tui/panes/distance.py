"""Draws the distance to the roofline and to the score that ends the run, and the share of launching."""

import math

from rich.cells import cell_len
from textual.content import Content

from kpd.model import scores
from kpd.model.detail import Detail
from kpd.model.headline import paired_score
from kpd.model.run import Run
from tui.format.gauge import gauge
from tui.format.numbers import figure, percent
from tui.format.text import clip, line
from tui.model.view import View
from tui.panes.cases import MUCH_LAUNCHING, launching

LABEL, MOST_CELLS = 10, 24


def distance(view: View, run: Run, width: int) -> list[Content]:
    """Draw a line for the roofline and one for the stop score, as far as they are known."""
    best = run.best
    if best is None or best.score is None:
        return []
    found = []
    if best.roofline_pct is not None:
        share = percent(best.roofline_pct)
        found.append(
            _row(
                "roofline",
                best.roofline_pct / 100,
                f"{share} of what the device can do, as measured then",
                f"{share} then",
                width,
            )
        )
    stop, score = run.budget.stop_score, paired_score(run, view.state.direction(run))
    if stop is not None and score is not None:
        found.append(_row("stop score", *_to_go(view, run, score, stop), width))
    return found


def split(detail: Detail, width: int) -> list[Content]:
    """Draw how much of all calls is work on the device, and the case with the largest share of launching."""
    timed = detail.timed
    known = [case for case in timed.cases if case.device_us is not None] if timed is not None else []
    call = sum(case.candidate_us for case in known)
    if not known or call <= 0:
        return []
    lost = max(0.0, 1 - sum(case.device_us or 0.0 for case in known) / call) * 100
    worst = max(known, key=lambda case: launching(case) or 0.0)
    most = launching(worst) or 0.0
    text = f"{percent(100 - lost)} on the device, {percent(lost)} launching"
    if most >= MUCH_LAUNCHING and len(known) > 1:
        text += f"; {worst.case}: {percent(most)}"
    return [_row("a call", 1 - lost / 100, text, f"{percent(lost)} launching", width)]


def _to_go(view: View, run: Run, score: float, stop: float) -> tuple[float | None, str, str]:
    """Return the share of the way from the baseline to the stop score, and what is left as long and as short text."""
    direction = view.state.direction(run)
    lower = direction == "lower"
    left = (1 - stop / score) * 100 if lower else (stop / score - 1) * 100 if score else math.inf
    if scores.reached(score, stop, direction):
        return 1.0, f"{figure(stop)} is reached", "reached"
    told = f"{figure(stop)}: {percent(left)} {'less' if lower else 'more'} to go"
    first = run.baseline.score if run.baseline is not None else None
    if not first or min(first, score, stop) <= 0 or first == stop:
        return None, told, told
    return math.log(first / score) / math.log(first / stop), told, told


def _row(label: str, share: float | None, text: str, short: str, width: int) -> Content:
    """Draw a label, a bar and a text; where there is too little room for a bar, only the short text."""
    for told in (text, short):
        cells = min(MOST_CELLS, width - LABEL - 4 - cell_len(told))
        if cells >= 6 and share is not None:
            return line((f"{label:<{LABEL + 2}}", ".muted")) + gauge(share, cells) + line(f"  {told}")
    return line((f"{label:<{LABEL + 2}}", ".muted"), clip(text if share is None else short, width - LABEL - 2))
