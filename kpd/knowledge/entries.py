"""Writes the entries of a memory file. Text from others is escaped and put on one line."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from kpd.knowledge.efficacy import aimed_at
from kpd.model.causes import IterationCause
from kpd.model.iteration import Expectation, Iteration
from kpd.model.metrics import describe
from kpd.model.run import Run
from kpd.model.status import Outcome
from kpd.text.endings import iteration_ended, override
from kpd.text.foreign import escaped
from kpd.text.gains import brief, gain as gain_of
from kpd.text.verdicts import UNCHECKED

MOST_NAMED = 8
"""The most files that an entry names."""


def heading(run: Run, arch: str = "") -> str:
    where = escaped(f"{run.host}/{run.device}" if run.device else run.host)
    built_for = f" · {escaped(arch)}" if arch else ""
    return f"## Run {run.id} · {when(run.started or run.queued)[:10]} · {where}{built_for}"


def title(run: Run, iteration: Iteration) -> str:
    """Return the title of an entry, with the time when the iteration began.

    Run ids start again when a workspace's log is deleted; the time makes the title unique.
    """
    return f"### {run.id}.{iteration.number} · {when(iteration.started)}"


def when(at: float) -> str:
    """Format a Unix time in UTC, to the second, as text that sorts by time."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")


def measured(
    run: Run,
    iteration: Iteration,
    outcome: Outcome,
    cause: IterationCause,
    before: Mapping[str, float],
    after: Mapping[str, float],
    files: Sequence[str] = (),
) -> Iterable[str]:
    """Yield the lines of an ended iteration; `before` and `after` are the metrics of its parent and its own.

    `files` are what `changes` returns.
    """
    yield f"- memo: {escaped(iteration.memo) or '(none)'}"
    if files:
        yield f"- files: {escaped(', '.join(files))}"
    marked = f"{outcome} by hand: {escaped(override(iteration.override))}" if iteration.override else outcome
    reason = "" if iteration.override else escaped(iteration_ended(cause))
    yield f"- outcome: {marked}" + (f": {reason}" if reason else "")
    if run.unchecked:
        yield f"- {UNCHECKED}"
    if iteration.verdict is not None:
        yield f"- verdict: {iteration.verdict.lesson}, {gain_of(iteration.verdict.gain)}"
    parent = run.iteration(iteration.parent)
    if aimed := aimed_at(iteration, parent.rules if parent else ()):
        yield f"- aimed at: {', '.join(aimed)}"
    if iteration.expected is not None:
        yield f"- expected: {_expected(iteration.expected)}; measured: {_became(iteration, before, after)}"
    if iteration.rules:
        yield f"- findings: {', '.join(iteration.rules)}"


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """Name the files in which a candidate differs from its parent, sorted; both are hashes by path.

    Where each has only one file, and it is the same, there is nothing to name. At most MOST_NAMED, and how many more.
    """
    if before.keys() == after.keys() and len(after) == 1:
        return ()
    changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    told = [
        f"{path}{' (new)' if path not in before else ' (removed)' if path not in after else ''}" for path in changed
    ]
    more = len(told) - MOST_NAMED
    return (*told[:MOST_NAMED], *([f"and {more} more"] if more > 0 else []))


def lineage(run: Run, number: int | None) -> set[int]:
    """Return the numbers of the iteration and of all its ancestors; none for None."""
    found: set[int] = set()
    while number is not None and number not in found and (iteration := run.iteration(number)) is not None:
        found.add(number)
        number = iteration.parent
    return found


def _expected(expected: Expectation) -> str:
    gain = "" if expected.gain_pct is None else f", {brief(expected.gain_pct)}"
    name = expected.metric if describe(expected.metric) else escaped(expected.metric)
    return f"{name} {expected.direction}{gain}"


def _became(iteration: Iteration, before: Mapping[str, float], after: Mapping[str, float]) -> str:
    assert iteration.expected is not None
    name = iteration.expected.metric
    parts = []
    if name in before and name in after:
        metric = describe(name)
        unit = f" {metric.unit}" if metric and metric.unit else ""
        parts.append(f"{before[name]:.4g} → {after[name]:.4g}{unit}")
    if iteration.verdict is not None:
        parts.append(brief(iteration.verdict.gain.pct))
    return ", ".join(parts) or "nothing"
