"""Keeps the accounts of one run: records each call to a model before it is made and when it has ended.

So the rest of the budget is known also while a call is under way, or when nobody saw its end.
"""

import time
from contextlib import suppress
from pathlib import Path

from kpd.claude.errors import OverBudget, Unavailable
from kpd.claude.purse import spent_beside, spent_for
from kpd.engine.journal import Journal, run_of
from kpd.model import events as e
from kpd.model.exhaustion import Overspent
from kpd.model.notices import CallUnseen
from kpd.model.preparation import account_of
from kpd.model.run import Run
from kpd.model.spending import Purpose, Spend, Usage, day_of
from kpd.model.state import State
from kpd.workspace.config import ClaudeConfig


class RunLedger:
    """A `claude.question.Ledger` of a run."""

    def __init__(self, journal: Journal, config: ClaudeConfig, run: str, iteration: int) -> None:
        self._journal = journal
        self._config = config
        self._run = run
        self._iteration = iteration

    def begin(self, purpose: Purpose, model: str, most_usd: float | None) -> int:
        """Record a call to a model before it is made, and return its number. `most_usd` is the most it can cost.

        Raises OverBudget, Unavailable where a limit in dollars cannot be held because a price or an account is not
        known, and JournalError.
        """
        state, run = self._journal.state, run_of(self._journal, self._run)
        of_run, of_day = run.budget.usd, self._config.max_usd_per_day
        if most_usd is None and (of_run or of_day):
            raise Unavailable(
                f"the price of {model} is not known, so the limits in dollars cannot be held",
                f'give it in [claude.prices."{model}"] of config.toml, or set max_usd_per_run and max_usd_per_day to 0',
            )
        now = time.time()
        cost = most_usd or 0.0
        if of_run and (spent := run.spend.usd + run.reserved_usd) + cost > of_run:
            raise OverBudget(Overspent("run", of_run, spent, cost))
        beside = spent_beside(Path(state.workspace), day_of(now)) if of_day and state.workspace else 0.0
        if of_day and (today := spent_by_runs(state, now) + beside) + cost > of_day:
            raise OverBudget(Overspent("day", of_day, today, cost))
        call = run.asked + 1
        self._journal.emit(e.Asked(self._run, self._iteration, call, purpose, model, most_usd))
        return call

    def billed(self, call: int, usage: Usage, usd: float | None, cut: bool) -> None:
        """Record what call `call` has cost. Raises JournalError."""
        asked = next(one for one in run_of(self._journal, self._run).calls if one.number == call)
        self._journal.emit(e.Billed(self._run, asked.iteration, asked.purpose, asked.model, usage, usd, cut, call))


def spent_by_runs(state: State, now: float) -> float:
    """Return the US dollars that runs have spent on the day of `now`, or may spend by calls that are under way."""
    return state.spent_on(now).usd + sum(one.reserved_usd for one in state.runs.values())


def spent_before(root: Path, run: Run) -> dict[Purpose, Spend]:
    """Return what calls before a run's first iteration have cost, by purpose.

    Empty where their account cannot be read: the next call says so.
    """
    with suppress(Unavailable):
        return spent_for(root, account_of(run.id, run.deploy), run.queued)
    return {}


def spent_today(state: State, root: Path, now: float) -> float | None:
    """Return the same with the calls beside runs of the workspace `root`; None where their account cannot be read."""
    try:
        return spent_by_runs(state, now) + spent_beside(root, day_of(now))
    except Unavailable:
        return None


def settle(journal: Journal) -> None:
    """Record the calls whose end a former daemon did not see, at the most they could cost. Raises JournalError."""
    for run in tuple(journal.state.runs.values()):
        for call in run.calls:
            journal.emit(
                e.Billed(
                    run.id, call.iteration, call.purpose, call.model, Usage(), call.most_usd, True, call.number, True
                )
            )
            journal.emit(e.Noticed("warning", CallUnseen(run.id, call.iteration, call.model, call.most_usd)))
