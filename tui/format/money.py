"""Formats costs of models: dollars and tokens, as far as they are known, and what is left of a limit."""

from kpd.model.run import Run
from kpd.model.spending import Spend, dollars
from kpd.text.money import cost as cost, rest
from tui.format.numbers import compact, percent


def tokens(spend: Spend) -> str:
    total = spend.usage.total
    if spend.uncounted:
        return f"{compact(total)} + ? tokens" if total else "? tokens"
    return f"{compact(total)} {'token' if total == 1 else 'tokens'}"


def told(spend: Spend) -> str:
    """Format a cost with its tokens: `$0.0312 for 8,214 tokens in 2 calls, 62 % from cache`."""
    usage = spend.usage
    calls = f" in {spend.calls:,} calls" if spend.calls > 1 else ""
    found = f"{cost(spend)} for {tokens(spend)}{calls}"
    if usage.cache_read:
        found += f", {percent(100 * usage.cache_read / usage.total)} from cache"
    return found


def costs(run: Run) -> bool:
    """Return whether the run has paid for a model, or has an agent that uses one."""
    return bool(run.spend.calls) or any(run.trait(agent).models for agent in run.agents)


def of_limit(run: Run) -> str:
    """Format what a run has cost, and its limit where it has one: `$0.42 of $5.00`."""
    most = run.budget.usd
    return f"{cost(run.spend)} of {dollars(most)}" if most else cost(run.spend)


def left(run: Run, width: int) -> str:
    """Format the money that is left, `$4.58 of $5.00 left`, or a shorter form that fits into `width` cells."""
    most = run.budget.usd
    if not most:
        return "no limit"
    found = rest(run.spend, most)
    full = f"{found} of {dollars(most)} left"
    return full if len(full) <= width else f"{found} left"
