"""One iteration in full: what each of its steps found, folded from that iteration's own events."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from kpd.model import events as e
from kpd.model.nouns import StepName


@dataclass(frozen=True, slots=True)
class Detail:
    """The latest fact of each step; a step that has not finished, or was begun again, is None."""

    proposed: e.Proposed | None = None
    screened: e.Screened | None = None
    staged: e.Staged | None = None
    built: e.Built | None = None
    checked: e.Checked | None = None
    timed: e.Timed | None = None
    judged: e.Judged | None = None
    profiled: e.Profiled | None = None
    explained: e.Explained | None = None
    faults: tuple[e.Faulted, ...] = ()
    accepted: e.Accepted | None = None
    ended: e.IterationEnded | None = None

    def has(self, step: StepName) -> bool:
        """Whether the step has finished."""
        return getattr(self, _FIELDS[step]) is not None

    def with_fact(self, fact: e.StepFact) -> "Detail":
        """With what a step has found."""
        changes: dict[str, Any] = {fact.kind(): fact}
        return replace(self, **changes)


_FIELDS: dict[StepName, str] = {step: fact.kind() for fact, step in e.STEP_OF.items()}


def detail(events: Iterable[e.Event]) -> Detail:
    """Fold the events of one iteration. A fault begins the steps anew: what they had found no longer holds."""
    found = Detail()
    for event in events:
        fact = event.fact
        if isinstance(fact, e.StepFact):
            found = found.with_fact(fact)
        elif isinstance(fact, e.Faulted):
            found = Detail(faults=(*found.faults, fact))
        elif isinstance(fact, e.Accepted):
            found = replace(found, accepted=fact)
        elif isinstance(fact, e.IterationEnded):
            found = replace(found, ended=fact)
    return found
