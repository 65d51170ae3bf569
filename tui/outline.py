"""The left pane as plain data: tasks → runs → iterations as rows, and the place the operator is at."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kpd.model.nouns import Iteration, Run, State, TaskCard


@dataclass(frozen=True, slots=True)
class Place:
    """A task, a run of it, or one of its iterations."""

    task: str = ""
    run: str = ""
    iteration: int | None = None

    @property
    def folder(self) -> "Place":
        """The row one level up."""
        return Place(self.task, self.run) if self.iteration is not None else Place(self.task)


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One line. `of` is what it shows; a task that is gone but has runs is shown by its name alone."""

    place: Place
    of: TaskCard | Run | Iteration
    open: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """The visible rows, newest runs and iterations first, and where each place stands among them."""

    rows: tuple[Row, ...] = ()
    index: Mapping[Place, int] = field(default_factory=dict)

    def step(self, place: Place, by: int) -> Place:
        """The place `by` rows further on, at most the first or last."""
        if not self.rows:
            return place
        at = self.index.get(place, 0) + by
        return self.rows[max(0, min(at, len(self.rows) - 1))].place


def outline(state: State, folds: Mapping[Place, bool], at: Place) -> Outline:
    """What is unfolded: every task, and of its runs the newest, those that have begun and the one at `at`."""
    rows: list[Row] = []
    runs = _runs_by_task(state)
    for name in sorted({*state.tasks, *runs}):
        place = Place(name)
        is_open = folds.get(place, True)
        rows.append(Row(place, state.tasks.get(name, TaskCard(name)), is_open))
        if not is_open:
            continue
        for nth, run in enumerate(reversed(runs.get(name, []))):
            inside = Place(name, run.id)
            unfolded = folds.get(inside, nth == 0 or run.status in ("running", "paused") or at.run == run.id)
            rows.append(Row(inside, run, unfolded))
            if unfolded:
                rows += [Row(Place(name, run.id, it.number), it) for it in reversed(run.iterations)]
    return Outline(tuple(rows), {row.place: nth for nth, row in enumerate(rows)})


def newest(state: State) -> Place:
    """Where the news is: the newest iteration of the newest run that holds a device, else of the newest run."""
    run = state.active or next(reversed(state.runs.values()), None)
    if run is None:
        return Place(min(state.tasks, default=""))
    return Place(run.task, run.id, run.iterations[-1].number if run.iterations else None)


def exists(state: State, place: Place) -> bool:
    """Whether there still is such a place."""
    if not place.run:
        return place.task in state.tasks or any(run.task == place.task for run in state.runs.values())
    run = state.runs.get(place.run)
    return run is not None and (place.iteration is None or run.iteration(place.iteration) is not None)


def _runs_by_task(state: State) -> dict[str, list[Run]]:
    found: dict[str, list[Run]] = {}
    for run in state.runs.values():
        found.setdefault(run.task, []).append(run)
    return found
