"""Builds the rows of the left pane, tasks → runs → iterations, and keeps the selection."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, overload

from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.model.state import State, TaskCard
from tui.model.filtering import EVERYTHING, Filter

Order = Literal["newest", "gain", "score"]
ORDERS: tuple[Order, ...] = ("newest", "gain", "score")


@dataclass(frozen=True, slots=True)
class TreePosition:
    """A task, a run of it, or one of its iterations."""

    task: str = ""
    run: str = ""
    iteration: int | None = None

    @property
    def folder(self) -> "TreePosition":
        """The row one level up."""
        return TreePosition(self.task, self.run) if self.iteration is not None else TreePosition(self.task)

    @property
    def ref(self) -> str:
        """The name that commands have for it: `r3.7`, or `r3`."""
        return f"{self.run}.{self.iteration}" if self.iteration is not None else self.run


@dataclass(frozen=True, slots=True, eq=False)
class OutlineRow:
    """One row. `of` is what it shows; a task that no longer exists but has runs is shown by its name alone."""

    place: TreePosition
    of: TaskCard | Run | Iteration
    open: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A task or a run with its unfolded iterations; if `backwards`, these are shown from the last to the first."""

    start: int
    head: OutlineRow
    iterations: Sequence[Iteration] = ()
    backwards: bool = True

    def row(self, at: int) -> OutlineRow:
        if at == 0:
            return self.head
        it = self.iterations[-at] if self.backwards else self.iterations[at - 1]
        return OutlineRow(TreePosition(self.head.place.task, self.head.place.run, it.number), it)

    def at(self, number: int) -> int | None:
        """Return the row of an iteration within the section; None where the section is folded or leaves it out."""
        its = self.iterations
        if not self.backwards:
            return next((nth for nth, it in enumerate(its, 1) if it.number == number), None)
        found = bisect_left(its, number, key=lambda it: it.number)
        return len(its) - found if found < len(its) and its[found].number == number else None


class OutlineRows(Sequence[OutlineRow]):
    """The rows, each made when it is read: a run of 10,000 iterations costs no more than one of ten."""

    def __init__(self, sections: Sequence[Section] = ()) -> None:
        self.sections = sections
        self._starts = [section.start for section in sections]
        self._length = sections[-1].start + 1 + len(sections[-1].iterations) if sections else 0

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int) -> OutlineRow: ...
    @overload
    def __getitem__(self, at: slice) -> list[OutlineRow]: ...
    def __getitem__(self, at: int | slice) -> OutlineRow | list[OutlineRow]:
        if isinstance(at, slice):
            return [self[nth] for nth in range(*at.indices(self._length))]
        at = at + self._length if at < 0 else at
        if not 0 <= at < self._length:
            raise IndexError(at)
        section = self.sections[bisect_right(self._starts, at) - 1]
        return section.row(at - section.start)


class Index(Mapping[TreePosition, int]):
    """The row of each place."""

    def __init__(self, rows: OutlineRows) -> None:
        self._rows = rows
        self._heads = {section.head.place: section for section in rows.sections}

    def __getitem__(self, place: TreePosition) -> int:
        head = place if place.iteration is None else place.folder
        section = self._heads[head]
        at = 0 if place.iteration is None else section.at(place.iteration)
        if at is None:
            raise KeyError(place)
        return section.start + at

    def __iter__(self) -> Iterator[TreePosition]:
        return (row.place for row in self._rows)

    def __len__(self) -> int:
        return len(self._rows)


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """The visible rows, newest runs first, and the row of each place.

    `matching` counts the iterations that the filter lets through, of `total`.
    """

    rows: Sequence[OutlineRow] = ()
    index: Mapping[TreePosition, int] = field(default_factory=dict)
    matching: int = 0
    total: int = 0

    def step(self, place: TreePosition, by: int) -> TreePosition:
        """Return the place `by` rows further on, at most the first or last."""
        if not self.rows:
            return place
        at = self.index.get(place, 0) + by
        return self.rows[max(0, min(at, len(self.rows) - 1))].place

    @property
    def first(self) -> TreePosition | None:
        """The first iteration in sight, if there is any."""
        return next((row.place for row in self.rows if row.place.iteration is not None), None)


def outline(
    state: State,
    folds: Mapping[TreePosition, bool],
    at: TreePosition,
    wanted: Filter = EVERYTHING,
    order: Order = "newest",
) -> Outline:
    """Build the unfolded rows: every task, and of its runs the newest, those that have begun and the one at `at`.

    While a filter is set, tasks and runs without a match are left out, and those with one are unfolded.
    """
    sections: list[Section] = []
    start = matching = total = 0
    runs = _runs_by_task(state)
    for name in sorted({*state.tasks, *runs}):
        card = state.tasks.get(name, TaskCard(name))
        found: list[tuple[Run, Sequence[Iteration]]] = []
        for run in reversed(runs.get(name, [])):
            its = _let_through(run, wanted)
            matching, total = matching + len(its), total + len(run.iterations)
            if its or not wanted or wanted.run(run):
                found.append((run, its))
        if wanted and not found:
            continue
        is_open = folds.get(TreePosition(name), True)
        sections.append(Section(start, OutlineRow(TreePosition(name), card, is_open)))
        start += 1
        for nth, (run, its) in enumerate(found if is_open else ()):
            inside = TreePosition(name, run.id)
            begun = run.begun
            unfolded = folds.get(inside, nth == 0 or begun or at.run == run.id or bool(wanted))
            shown = _ordered(its, order, card) if unfolded else ()
            sections.append(Section(start, OutlineRow(inside, run, unfolded), shown, order == "newest"))
            start += 1 + len(shown)
    rows = OutlineRows(sections)
    return Outline(rows, Index(rows), matching, total)


def newest(state: State, followed: str = "") -> TreePosition:
    """Return the place of the newest iteration: of the newest run that has begun, else of the newest run.

    A run that is `followed` goes before these until it has ended and another one has begun.
    """
    run = state.runs.get(followed)
    if run is None or (run.over and state.active is not None):
        run = state.active or next(reversed(state.runs.values()), None)
    if run is None:
        return TreePosition(min(state.tasks, default=""))
    return TreePosition(run.task, run.id, run.iterations[-1].number if run.iterations else None)


def exists(state: State, place: TreePosition) -> bool:
    """Return whether the task, run or iteration still exists."""
    if not place.run:
        return place.task in state.tasks or any(run.task == place.task for run in state.runs.values())
    run = state.runs.get(place.run)
    return run is not None and (place.iteration is None or run.iteration(place.iteration) is not None)


def _let_through(run: Run, wanted: Filter) -> Sequence[Iteration]:
    return tuple(it for it in run.iterations if wanted.iteration(run, it)) if wanted else run.iterations


def _ordered(its: Sequence[Iteration], order: Order, card: TaskCard) -> Sequence[Iteration]:
    """Return the iterations with the best first and those never measured last; by age they are left as they are."""
    if order == "newest":
        return its
    sign = -1 if order == "gain" or card.direction == "higher" else 1
    return sorted(its, key=lambda it: _last_if_unknown(_gain(it) if order == "gain" else it.score, sign))


def _gain(it: Iteration) -> float | None:
    """Return the gain in percent of an iteration judged against another one; None else, also for the baseline."""
    return it.verdict.gain.pct if it.verdict is not None and it.outcome != "baseline" else None


def _last_if_unknown(value: float | None, sign: int) -> float:
    return sign * value if value is not None and math.isfinite(value) else math.inf


def _runs_by_task(state: State) -> dict[str, list[Run]]:
    found: dict[str, list[Run]] = {}
    for run in state.runs.values():
        found.setdefault(run.task, []).append(run)
    return found
