"""Draws a share of a whole as a bar of characters."""

import math

from textual.content import Content

from tui.format.text import BLANK

_RISING = "▁▂▃▄▅▆▇█"


def gauge(share: float | None, cells: int) -> Content:
    """Draw `share` (0 to 1) as a bar of `cells` cells; blank where it is not known. Other values are clamped."""
    if share is None or not math.isfinite(share):
        return BLANK
    share = max(0.0, min(1.0, share))
    if cells == 1:
        return Content.styled(_RISING[round(share * (len(_RISING) - 1))], ".accent")
    halves = round(share * 2 * cells)
    full = "━" * (halves // 2) + "╸" * (halves % 2)
    return Content.assemble((full, ".accent"), ("─" * (cells - len(full)), ".off"))
