"""Defines the headline of a run: the speed-up of its incumbent over its baseline, from paired contests alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import isfinite, prod
from typing import Literal

from kpd.model.causes import IterationCause
from kpd.model.hosts import DeviceRef, FormerKind
from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.model.scores import Direction
from kpd.model.verdicts import Speedup, Verdict

How = Literal["measured", "chained", "unconfirmed"]
"""Where a headline comes from: one contest against the baseline; the contests of all accepted candidates; the same,
after a contest against the baseline that came to no result."""

ALONE = Speedup(1.0, 1.0, 1.0)
"""A program over itself, where nothing was measured."""


@dataclass(frozen=True, slots=True)
class Headline:
    """How many times as fast the incumbent, iteration `of`, is as the baseline.

    `by` is the iteration that measured it against the baseline; None where it is chained. `cause` says why an
    unconfirmed one could not be measured. `first` is the first right candidate, which is the baseline where the task's
    own files were not right. It is `provisional` until the last checks have seen the
    incumbent pass.
    """

    of: int
    speedup: Speedup
    how: How
    by: int | None = None
    cause: IterationCause | None = None
    first: int | None = None
    provisional: bool = False

    @property
    def holds(self) -> bool:
        """Whether the incumbent is faster than the baseline beyond doubt."""
        return self.speedup.low > 1


def headline(run: Run, of: int | None = None) -> Headline | None:
    """Compute the headline of iteration `of`, by default the incumbent; None for the baseline, or where it is unknown.

    The newest contest of it against the baseline counts. Without one, the speed-ups along its line are multiplied: each
    was measured against its predecessor in one contest, so scores of different contests are never compared.
    """
    number = run.incumbent if of is None else of
    baseline = run.baseline
    if number is None or baseline is None or number == baseline.number:
        return None
    found = run.iteration(number)
    provisional = found is not None and found.provisional
    last = next((it for it in reversed(run.on_this_kind) if it.confirms == number and it.outcome is not None), None)
    if last is not None and last.verdict is not None:
        return Headline(
            number, last.verdict.gain.speedup, "measured", last.number, first=run.first_right, provisional=provisional
        )
    speedup = chained(run, number)
    if speedup is None:
        return None
    how: How = "unconfirmed" if last else "chained"
    return Headline(number, speedup, how, None, last.cause if last else None, run.first_right, provisional)


def on_former(run: Run, former: FormerKind) -> Run:
    """Return the run as it was when it left a former kind of device, for what was found there."""
    starts = (*(one.since for one in run.former), run.since)
    there = tuple(it for it in run.iterations if it.number < starts[run.former.index(former) + 1])
    return replace(run, iterations=there, since=former.since, incumbent=former.incumbent, former=())


def paired_score(run: Run, direction: Direction = "lower") -> float | None:
    """Compute the incumbent's score as the baseline's contest would have shown it: the baseline's, times the headline.

    None where one of the two is unknown. The score that was measured with the incumbent is of another contest, maybe on
    a slower host, so nothing is decided by it.
    """
    baseline, found = run.baseline, headline(run)
    if baseline is None or baseline.score is None:
        return None
    if run.incumbent == baseline.number:
        return baseline.score
    if found is None or found.speedup.ratio <= 0:
        return None
    by = found.speedup.ratio
    return baseline.score * by if direction == "higher" else baseline.score / by


def chained(run: Run, number: int) -> Speedup | None:
    """Multiply the speed-ups from the baseline to iteration `number`; None where a contest of the line is missing.

    Its bounds are a forecast: they hold what the one contest against the baseline, which takes its place later, is
    expected to show. That contest is taken to be as wide as the widest of the line, the baseline's against itself
    included, on each device of the line.
    """
    line = tuple(lineage(run, number))
    if not line or line[-1] != run.baseline or any(it.number < run.since for it in line):
        return None
    steps = [it.verdict.gain.speedup for it in line[:-1] if it.verdict is not None]
    found = product(steps) if len(steps) == len(line) - 1 else None
    places = {it.place for it in line}
    noise = [verdict.gain.speedup for place, verdict in floors(run).items() if place in places] or [ALONE]
    if found is None or not steps or any(one.low <= 0 for one in noise):
        return found
    widths = (*steps, *noise)
    below, above = max(one.ratio / one.low for one in widths), max(one.high / one.ratio for one in widths)
    return Speedup(found.ratio, found.low / below, found.high * above)


def floors(run: Run) -> dict[DeviceRef, Verdict]:
    """Return the noise floor of each device: the verdict of the baseline against itself there."""
    measured = (it for it in run.on_this_kind if it.outcome == "baseline" or it.measures_floor)
    return {it.place: it.verdict for it in measured if it.verdict is not None}


def product(steps: Sequence[Speedup]) -> Speedup | None:
    """Multiply speed-ups of separate contests, and the ends of their intervals; None where an end is 0 or infinite.

    So the half-widths of the logarithms add up. As the root of their squares they would be too narrow: errors of
    contests are not independent. Each had the machine of its minute, and those of accepted candidates lean to one side.
    """
    if not all(one.low > 0 and isfinite(one.high) for one in steps):
        return None
    return Speedup(prod(one.ratio for one in steps), prod(one.low for one in steps), prod(one.high for one in steps))


def speedups(run: Run) -> dict[int, float]:
    """Chain the speed-up over the baseline of every iteration that was judged, by its number; the baseline has 1."""
    found: dict[int, float] = {}
    for it in run.iterations:
        if it.outcome == "baseline":
            found[it.number] = 1.0
        elif it.verdict is not None and it.parent in found and not it.measures_floor:
            ratio = found[it.parent] * it.verdict.gain.speedup.ratio
            if ratio > 0 and isfinite(ratio):
                found[it.number] = ratio
    return found


def lineage(run: Run, number: int) -> Iterator[Iteration]:
    """Yield iteration `number` and those that it was built on, each judged against the next, down to the baseline."""
    seen: set[int] = set()
    it = run.iteration(number)
    while it is not None and it.number not in seen:
        yield it
        seen.add(it.number)
        it = run.iteration(it.parent)
