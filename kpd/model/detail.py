"""Folds an iteration's events into its `Detail`: the results of all its steps."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from kpd.model import events as e
from kpd.model.status import StepName


@dataclass(frozen=True, slots=True)
class Detail:
    """The latest fact of each step; None for a step that has not finished, or that was begun again.

    `broken` are the troubles of this attempt that its candidate is suspected of. `trials` are those that have ended, of
    all attempts; `smith` is what came of its session's work on a tool.
    """

    proposed: e.Proposed | None = None
    screened: e.Screened | None = None
    reviewed: e.Reviewed | None = None
    staged: e.Staged | None = None
    built: e.Built | None = None
    checked: e.Checked | None = None
    timed: e.Timed | None = None
    judged: e.Judged | None = None
    profiled: e.Profiled | None = None
    explained: e.Explained | None = None
    faults: tuple[e.Faulted, ...] = ()
    broken: tuple[e.MeasurementBroken, ...] = ()
    trials: tuple[e.Tried, ...] = ()
    accepted: e.Accepted | None = None
    sanitized: e.Sanitized | None = None
    ended: e.IterationEnded | None = None
    smith: e.SmithEnded | None = None

    def has(self, step: StepName) -> bool:
        """Return whether the step has finished."""
        return getattr(self, _FIELDS[step]) is not None

    def with_fact(self, fact: e.Fact) -> "Detail":
        """Return the detail with one more fact of the iteration.

        A fault begins the steps anew, so it discards what they had found.
        """
        if isinstance(fact, e.Faulted):
            return Detail(faults=(*self.faults, fact), trials=self.trials)
        if isinstance(fact, e.Tried):
            return replace(self, trials=(*self.trials, fact))
        if isinstance(fact, e.MeasurementBroken):
            return replace(self, broken=(*self.broken, fact))
        if isinstance(fact, e.StepFact):
            changes: dict[str, Any] = {fact.kind(): fact}
            return replace(self, **changes)
        if isinstance(fact, e.Accepted):
            return replace(self, accepted=fact)
        if isinstance(fact, e.Sanitized):
            return replace(self, sanitized=fact)
        if isinstance(fact, e.SmithEnded):
            return replace(self, smith=fact)
        return replace(self, ended=fact) if isinstance(fact, e.IterationEnded) else self


_FIELDS: dict[StepName, str] = {step: fact.kind() for fact, step in e.STEP_OF.items()} | {"record": "ended"}


def detail(events: Iterable[e.Event]) -> Detail:
    """Fold the events of one iteration, in the order of the log."""
    found = Detail()
    for event in events:
        found = found.with_fact(event.fact)
    return found
