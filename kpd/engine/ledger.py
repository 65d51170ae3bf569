"""The accounts of one run: what calls to models cost, each in the event log as it ends, and what may still be spent."""

import time
from datetime import UTC, datetime

from kpd.claude.errors import OverBudget, Unavailable
from kpd.engine.journal import Journal, run_of
from kpd.model import events as e
from kpd.model.nouns import Purpose, Spend, Usage
from kpd.workspace.config import ClaudeConfig


class RunLedger:
    """See `claude.question.Ledger`."""

    def __init__(self, journal: Journal, config: ClaudeConfig, run: str, iteration: int) -> None:
        self._journal = journal
        self._config = config
        self._run = run
        self._iteration = iteration

    def allow(self, usd: float | None) -> None:
        """Raises OverBudget, and Unavailable where a limit cannot be held because a price is not known."""
        run = run_of(self._journal, self._run)
        today = self._journal.state.days.get(datetime.fromtimestamp(time.time(), UTC).date().isoformat(), Spend())
        of_run = run.budget.usd
        if usd is None and (of_run or self._config.max_usd_per_day):
            raise Unavailable(
                "the model's price is not known, so the limits in dollars cannot be held",
                "give its price in [claude.prices] of config.toml, or set max_usd_per_run and max_usd_per_day to 0",
            )
        cost = usd or 0.0
        if of_run and run.spend.usd + cost > of_run:
            raise OverBudget(_over("the run", run.spend.usd, of_run, cost), "run")
        if self._config.max_usd_per_day and today.usd + cost > self._config.max_usd_per_day:
            over = _over("today", today.usd, self._config.max_usd_per_day, cost)
            raise OverBudget(
                f"{over}; resume after midnight (UTC), or raise max_usd_per_day in config.toml first", "day"
            )

    def billed(self, purpose: Purpose, model: str, usage: Usage, usd: float | None, cut: bool) -> None:
        """Raises JournalError."""
        self._journal.emit(e.Billed(self._run, self._iteration, purpose, model, usage, usd, cut))


def _over(what: str, spent: float, limit: float, next_call: float) -> str:
    return (
        f"{what} has spent ${spent:.2f} of ${limit:.2f} on models, and the next call could cost ${next_call:.2f} more"
    )
