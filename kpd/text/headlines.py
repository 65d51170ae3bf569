"""Renders the headline of a run: how many times as fast its incumbent is as its baseline, and how that is known."""

from kpd.model.headline import Headline, How
from kpd.text.endings import iteration_ended
from kpd.text.gains import speedup

HOW: dict[How, str] = {"measured": "measured", "chained": "chained", "unconfirmed": "not confirmed"}


def headline(found: Headline, based: bool = False) -> str:
    """Format a headline with its interval and where it comes from: `8.11× [8.01, 8.20], chained`.

    Where the task's own files were not right, it also says over which iteration, unless it is `based`: `base` stands
    after it. Where it is provisional, it says that.
    """
    over = "" if found.first is None or based else f", over iteration {found.first}"
    return f"{speedup(found.speedup)}, {HOW[found.how]}{over}{', provisional' if found.provisional else ''}"


def base(found: Headline) -> str:
    """Say what the headline is over, to stand after it."""
    if found.first is None:
        return "over the baseline"
    return f"over iteration {found.first}, the first right candidate, as the task's own files are no right baseline"


def unconfirmed(found: Headline) -> str:
    """Say why a headline could not be measured; empty for one that was, or that nobody has measured yet."""
    return iteration_ended(found.cause)
