"""What models have cost: the calls in the log, summed by run, by iteration, by purpose and by model."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from kpd.model.events import Billed, Event
from kpd.model.nouns import Run
from kpd.model.spending import Spend


def account(run: Run, events: Iterable[Event]) -> dict[str, Any]:
    """A run's account. `iterations` has those that cost something, `cut` counts the calls that broke off."""
    bills = [event.fact for event in events if isinstance(event.fact, Billed) and not event.fact.refused]
    sums: dict[str, dict[str, Spend]] = {"purposes": defaultdict(Spend), "models": defaultdict(Spend)}
    for bill in bills:
        for by, name in (("purposes", bill.purpose), ("models", bill.model)):
            sums[by][name] = sums[by][name].with_call(bill.usage, bill.usd)
    return {
        "run": run.id,
        "task": run.task,
        "spend": run.spend,
        "limit_usd": run.budget.usd,
        "cut": sum(bill.cut for bill in bills),
        **sums,
        "iterations": {it.number: it.spend for it in run.iterations if it.spend.calls},
    }
