"""Renders what calls to models have cost, and how far that is known."""

from kpd.model.spending import Spend, dollars


def cost(spend: Spend) -> str:
    """Format a cost: `$0.42`; `$0.42 + ?` where some calls have no known price, `?` where none has.

    `~$0.42` where it is not exact: a call broke off, or nobody saw its end.
    """
    if spend.calls and spend.unpriced == spend.calls:
        return "?"
    return f"{'~' if spend.inexact else ''}{dollars(spend.usd)}{' + ?' if spend.unpriced else ''}"


def rest(spend: Spend, most_usd: float) -> str:
    """Format what is left of a limit: `~$4.58` where the cost is not exact, `up to $4.58` where it is not known."""
    known = "up to " if spend.unpriced else "~" if spend.inexact else ""
    return f"{known}{dollars(max(0.0, most_usd - spend.usd))}"
