"""Runs of a comparison, with one attempt each."""

from dataclasses import replace
from typing import Any

from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.model.session import AgentSession
from kpd.model.side import ComparedRun, Side
from kpd.model.status import Ended
from kpd.model.verdicts import Gain, Verdict
from tests.support.model.samples import NO_CAUSE, done, run_of

TOOLS = ("lint@12ab",)
OVER = Ended("improved", NO_CAUSE, 9.0)


def verdict(ratio: float) -> Verdict:
    pct = 100 * (1 - 1 / ratio)
    return Verdict("faster", Gain(pct, pct, pct), 7, True, "faster", 1.0)


def run(ratio: float | None, side: Side = "plain", number: int = 1, **changes: Any) -> Run:
    """A run whose only attempt ended with this speed-up: 1 is a rejected one, None one that could not be measured."""
    base = Iteration(0, "baseline", 0, 0.0, status=done("baseline"), verdict=verdict(1.0))
    session = AgentSession("r1.1", seconds=60.0)
    tried = Iteration(1, "mine", 0, 0.0, session=session, status=done("failed"))
    found = [base, tried]
    if ratio is not None:
        found[1] = replace(tried, status=done("accepted" if ratio > 1 else "rejected"), verdict=verdict(ratio))
    if ratio is not None and ratio > 1:
        confirmed = Iteration(2, "again", 0, 0.0, status=done("measured"), again=1, confirming="end")
        found.append(replace(confirmed, verdict=verdict(ratio)))
    place = ComparedRun("c1", number, side, TOOLS if side == "tools" else ())
    return replace(run_of(*found, compared=place, status=OVER), **changes)
