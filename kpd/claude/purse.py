"""Keeps the account of what models cost beside runs, in a file of rows, written before and after each call.

Whoever asks a model without a run (a harness, a mended deployment) is a process of its own, so the rows are a file that
all read: the limit of a day holds for runs and for these calls together. A call is on the account before anybody asks
what runs have spent, and a run's call reads this account before it is in the log: of two calls at one moment, at least
one counts the other.
"""

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec

from kpd.claude.errors import OverBudget, Unavailable
from kpd.model.exhaustion import Overspent
from kpd.model.spending import NOTHING, Purpose, Spend, Usage, day_of
from kpd.workspace.config import ClaudeConfig
from kpd.workspace.rows import fitting

FILE = "spending.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallBeside:
    """One call: what it was for (`of`, `purpose`), and what it cost. One that nobody saw end counts at its most."""

    id: str
    at: float
    of: str
    purpose: Purpose
    model: str
    most_usd: float | None = None
    usage: Usage | None = None
    usd: float | None = None
    cut: bool = False
    refused: bool = False

    def added_to(self, spend: Spend) -> Spend:
        if self.usage is None:
            return spend.with_call(Usage(), self.most_usd, exact=False)
        return spend.with_call(self.usage, self.usd, exact=not self.cut)


def calls_beside(root: Path) -> list[CallBeside]:
    """Return all calls beside runs that a workspace knows, oldest first; a row that was cut off is left out.

    Raises Unavailable where the account cannot be read.
    """
    found: dict[str, dict[str, Any]] = {}
    for line in _content(root / FILE).splitlines():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            row = json.loads(line)
            found.setdefault(row["id"], {}).update(row)
    return [one for one in fitting(found.values(), CallBeside) if not one.refused]


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as err:
        message = f"what models have cost beside runs is not known: {path}: {err.strerror}"
        raise Unavailable(message, "make it a file that kpd can read and write, or move it away") from err


def spent_beside(root: Path, day: str) -> float:
    """Return the US dollars that calls beside runs have cost, or can cost, on a day (2026-11-21, UTC).

    Raises Unavailable.
    """
    spend = NOTHING
    for call in calls_beside(root):
        spend = call.added_to(spend) if day_of(call.at) == day else spend
    return spend.usd


def spent_for(root: Path, of: str | Collection[str], since: float) -> dict[Purpose, Spend]:
    """Return what calls beside runs have cost for what `of` names, by purpose, since a Unix time. Raises Unavailable.

    Ids of runs start again with a new log.
    """
    names = (of,) if isinstance(of, str) else of
    found: dict[Purpose, Spend] = {}
    for call in calls_beside(root):
        if call.of in names and call.at >= since:
            found[call.purpose] = call.added_to(found.get(call.purpose, NOTHING))
    return found


class Purse:
    """A `claude.question.Ledger` of one purpose beside runs: `of` names what it is for.

    Its limits are max_usd_per_run, for all calls of this purse with what was `spent` before, and max_usd_per_day;
    `of_runs` returns the dollars that runs have spent today or may spend by the calls that are under way. A limit of 0
    is none. `spend` is what counts for the first limit, `own` what of that the calls of this purse have cost.
    """

    def __init__(
        self, root: Path, of: str, config: ClaudeConfig, of_runs: Callable[[], float], spent: Spend = NOTHING
    ) -> None:
        self.spend, self.own = spent, NOTHING
        self._root = root
        self._of = of
        self._config = config
        self._of_runs = of_runs
        self._open: list[str] = []

    def begin(self, purpose: Purpose, model: str, most_usd: float | None) -> int:
        """Note a call before it is made, and return its number.

        Raises OverBudget, Unavailable without a price for a limit or where the account cannot be read, OSError.
        """
        most, of_day = self._config.max_usd_per_run, self._config.max_usd_per_day
        if most_usd is None and (most or of_day):
            raise Unavailable(
                "the model's price is not known, so the limits in dollars cannot be held",
                f'give it in [claude.prices."{model}"] of config.toml, or set max_usd_per_run and max_usd_per_day to 0',
            )
        cost = most_usd or 0.0
        if most and self.spend.usd + cost > most:
            raise OverBudget(Overspent("run", most, self.spend.usd, cost))
        with self._held():
            now, id = time.time(), uuid4().hex
            before = spent_beside(self._root, day_of(now)) if of_day else 0.0
            self._write({"id": id, "at": now, "of": self._of, "purpose": purpose, "model": model, "most_usd": most_usd})
            try:
                if of_day and (today := before + self._of_runs()) + cost > of_day:
                    raise OverBudget(Overspent("day", of_day, today, cost))
            except BaseException:  # the call is not made, also where nobody says what runs have spent
                self._write({"id": id, "refused": True})
                raise
        self._open.append(id)
        return len(self._open)

    def billed(self, call: int, usage: Usage, usd: float | None, cut: bool) -> None:
        """Note what a call has cost. Raises OSError."""
        self.spend, self.own = (one.with_call(usage, usd, exact=not cut) for one in (self.spend, self.own))
        with self._held():
            self._write({"id": self._open[call - 1], "usage": msgspec.to_builtins(usage), "usd": usd, "cut": cut})

    @contextlib.contextmanager
    def _held(self) -> Iterator[None]:
        with (self._root / FILE).open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _write(self, row: dict[str, Any]) -> None:
        with (self._root / FILE).open("ab") as file:
            file.write(b"\n" + json.dumps(row).encode() + b"\n")  # begun anew, also after a row that was cut off
            file.flush()
            os.fsync(file.fileno())
