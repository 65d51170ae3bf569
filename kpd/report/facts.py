"""Collects all that a report tells: a run, the results of its steps, and what its accepted candidates changed."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from kpd import __version__
from kpd.model import codec
from kpd.model.detail import Detail, detail
from kpd.model.events import Event
from kpd.model.fold import fold
from kpd.model.headline import lineage
from kpd.model.hosts import HostCard
from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.model.state import State, TaskCard

T = TypeVar("T")
Query = Callable[..., Any]
"""A function that asks the daemon, or reads the log without one: `query("diff", iteration="r1.3")`."""


@dataclass(frozen=True, slots=True)
class Facts:
    """A run, the detail of each of its iterations, and the machine.

    `diffs` are unified diffs of the accepted iterations of the incumbent's line, each against its parent. `card` and
    `host` are None where the task or the host is not known any more.
    """

    run: Run
    details: Mapping[int, Detail]
    diffs: Mapping[int, str]
    card: TaskCard | None
    host: HostCard | None
    kpd: str = __version__

    @property
    def line(self) -> tuple[Iteration, ...]:
        """The accepted iterations that the incumbent was built on, the first one first, without the baseline."""
        if self.run.incumbent is None:
            return ()
        line = [it for it in lineage(self.run, self.run.incumbent) if it.outcome != "baseline"]
        return tuple(reversed(line))


def gather(query: Query, events: Iterable[Event], run_id: str) -> Facts:
    """Read the facts of a run; `events` are all of its log. Raises what `query` raises."""
    state = State()
    of: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        state = fold(state, event)
        number = getattr(event.fact, "iteration", None)
        if isinstance(number, int):
            of[number].append(event)
    run = state.runs[run_id]
    status = query("status")
    facts = Facts(
        run,
        {number: detail(found) for number, found in of.items()},
        {},
        _known(status["tasks"].get(run.task), TaskCard),
        _known(status["hosts"].get(run.host), HostCard),
    )
    diffs = {it.number: query("diff", iteration=f"{run_id}.{it.number}")["text"] for it in facts.line}
    return Facts(run, facts.details, diffs, facts.card, facts.host)


def _known(found: Any, kind: type[T]) -> T | None:
    return None if found is None else codec.decode(codec.encode(found), kind)
