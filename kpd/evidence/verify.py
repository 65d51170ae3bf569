"""Verifies a bundle: derives all that follows from its samples again, and says line by line what holds. Pure."""

import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from kpd.evidence.archive import ENVIRONMENT, EVENTS, TASK, Bundle, Environment, entries
from kpd.evidence.iterations import BAD_FIGURES, Derivation, Terms
from kpd.evidence.line import VerifiedLine
from kpd.model import codec, events as e
from kpd.model.detail import detail
from kpd.model.fold import fold
from kpd.model.headline import headline
from kpd.model.scores import Direction
from kpd.model.state import State
from kpd.text.headlines import base, headline as told_headline
from kpd.text.numbers import counted
from kpd.workspace.run_files import digest
from kpd.workspace.specs import AcceptSpec

MOST_EVENTS = 200_000
MOST_LINES = 50
"""Files, or events, that are named one by one when they do not hold."""
TOLD = ("compiler", "gpu", "nvcc")
"""Checks of the machine that a verification repeats."""
LEAST_STEP_S = -1.0
"""The clock of a machine may be set back by a little; more than this between two events is told."""


def verify(bundle: Bundle) -> list[VerifiedLine]:
    """Return what holds and what does not, the files first, then the events, then each iteration."""
    log = _Log(bundle)
    return [*_first(_files(bundle)), _environment(bundle), *_first(log.read()), *_task(log), *_results(log)]


def _first(lines: Iterator[VerifiedLine]) -> Iterator[VerifiedLine]:
    """Yield the first MOST_LINES lines, and count the others."""
    more = 0
    for at, line in enumerate(lines):
        if at < MOST_LINES:
            yield line
        more += at >= MOST_LINES
    if more:
        yield VerifiedLine(False, "…", f"and {more} more")


def _files(bundle: Bundle) -> Iterator[VerifiedLine]:
    said, found = bundle.manifest.files, entries(bundle.files)
    wrong = False
    for name in sorted({*said, *found}):
        if said.get(name) != found.get(name):
            wrong = True
            why = "is missing" if name not in found else "has changed: the manifest has another hash of it"
            yield VerifiedLine(False, name, why if name in said else "is not in the manifest")
    if not wrong:
        size = sum(entry.bytes for entry in found.values())
        yield VerifiedLine(
            True, "files", f"{counted(len(found), 'file')} with {size / 1000:.0f} kB have the manifest's hashes"
        )


def _environment(bundle: Bundle) -> VerifiedLine:
    try:
        found = codec.decode(bundle.files.get(ENVIRONMENT, b""), Environment)
    except codec.CodecError as err:
        return VerifiedLine(False, ENVIRONMENT, f"cannot be read: {err}")
    parts = [f"kpd {found.kpd}"]
    if found.host is not None:
        seen = (check.found for check in found.host.checks if check.state == "ok" and check.name in TOLD)
        parts += [found.host.system, *seen]
    return VerifiedLine(True, "environment", f"as recorded: {', '.join(filter(None, parts))}")


@dataclass(slots=True)
class _Log:
    """The events of a bundle, folded one by one."""

    bundle: Bundle
    state: State = field(default_factory=State)
    began: dict[int, e.IterationStarted] = field(default_factory=dict)
    of: dict[int, list[e.Event]] = field(default_factory=lambda: defaultdict(list))
    pinned: e.TaskPinned | None = None
    least: dict[int, float] = field(default_factory=dict)
    against: dict[int, int] = field(default_factory=dict)
    """What each iteration had to be measured against."""
    _at: float = 0.0

    @property
    def id(self) -> str:
        return self.bundle.manifest.run

    def read(self) -> Iterator[VerifiedLine]:
        """Yield what does not hold of the events, or one line that all are in order."""
        rows = self.bundle.files.get(EVENTS, b"").splitlines()
        if len(rows) > MOST_EVENTS:
            yield VerifiedLine(False, EVENTS, f"has {len(rows)} events, kpd reads {MOST_EVENTS}")
            rows = rows[:MOST_EVENTS]
        wrong = not rows
        if not rows:
            yield VerifiedLine(False, EVENTS, "is missing or empty")
        for number, row in enumerate(rows, 1):
            if why := self._take(row):
                wrong = True
                yield VerifiedLine(False, f"event {number}", why)
        if not wrong:
            yield VerifiedLine(True, "events", f"{counted(len(rows), 'event')} in order")

    def _take(self, row: bytes) -> str:
        """Fold one event; return what is wrong with it, or nothing."""
        try:
            event = codec.event_from_json(row)
        except codec.CodecError as err:
            return str(err)
        why = self._disorder(event)
        try:
            self.state = fold(self.state, event)
        except BAD_FIGURES as err:
            return f"{event.fact.kind()} cannot follow the events before it: {err}"
        self._note(event)
        return why

    def _disorder(self, event: e.Event) -> str:
        fact, before = event.fact, self.state.seq
        at, self._at = self._at, event.at
        if not isinstance(fact, e.RunFact) or fact.run != self.id:
            return f"{fact.kind()} is not of {self.id}"
        if isinstance(fact, e.RunQueued) != (before == 0):
            return "is out of order: the first event queues the run, and no other"
        if event.seq <= before:
            return f"is out of order: its place in the log is {event.seq}, after {before}"
        if at and event.at - at < LEAST_STEP_S:
            return f"is out of order: it is {at - event.at:.1f} s earlier than the one before it"
        if isinstance(fact, e.IterationStarted) and fact.iteration != len(self.began):
            return f"is out of order: iteration {fact.iteration} begins, and {len(self.began)} comes next"
        return self._step(fact) if isinstance(fact, e.StepFact) else ""

    def _step(self, fact: e.StepFact) -> str:
        """Say what is wrong with the place of a step's result."""
        run = self.state.runs.get(fact.run)
        found = run.iteration(fact.iteration) if run is not None else None
        step = e.STEP_OF[type(fact)]
        if found is None or found.step != step:
            return f"is out of order: the result of {step} in iteration {fact.iteration}, where that step has not begun"
        return ""

    def _note(self, event: e.Event) -> None:
        fact = event.fact
        if isinstance(fact, e.IterationStarted):
            self.began.setdefault(fact.iteration, fact)
            self.against.setdefault(fact.iteration, self._against(fact))
        if isinstance(fact, e.TaskPinned):
            self.pinned = fact
        if isinstance(fact, e.IterationFact):
            self.of[fact.iteration].append(event)
        if isinstance(fact, e.Judged) and (run := self.state.runs.get(fact.run)) is not None:
            self.least[fact.iteration] = run.budget.min_gain_pct

    def _against(self, began: e.IterationStarted) -> int:
        """Return the incumbent; the iteration itself where there is none, and the baseline for a contest against it."""
        run = self.state.runs.get(self.id)
        if run is None or run.incumbent is None:
            return began.iteration
        return run.baseline.number if began.confirming and run.baseline is not None else run.incumbent


def _task(log: _Log) -> Iterator[VerifiedLine]:
    """Compare the task's files with those that the run began with."""
    if log.pinned is None:
        yield VerifiedLine(False, "task", "the log does not say with which files the run began")
        return
    files = {**log.pinned.protected, **log.pinned.editable}
    wrong = False
    for path, sha256 in files.items():
        data = log.bundle.files.get(TASK + path)
        if data is None and TASK + path in log.bundle.manifest.left_out:
            yield VerifiedLine(True, TASK + path, f"was too large for the bundle; its hash is {sha256}")
        elif data is None or digest(data) != sha256:
            wrong = True
            yield VerifiedLine(
                False, TASK + path, "is missing" if data is None else "is not the file that the run began with"
            )
    if not wrong:
        yield VerifiedLine(True, "task", f"{counted(len(files), 'file')} as the run began with them")


def _terms(log: _Log) -> tuple[float, Direction]:
    """Return the task's `worst_case` and direction; the defaults where its file cannot be read."""
    worst, direction = AcceptSpec().worst_case, "lower"
    try:
        found = tomllib.loads(log.bundle.files.get(TASK + "task.toml", b"").decode())
        worst = float(found.get("accept", {}).get("worst_case", worst))
        direction = found.get("bench", {}).get("direction", direction)
    except (*BAD_FIGURES, AttributeError, RecursionError):
        return AcceptSpec().worst_case, "lower"
    return worst, "higher" if direction == "higher" else "lower"


def _results(log: _Log) -> Iterator[VerifiedLine]:
    """Derive each iteration's results, then the run's."""
    worst_case, direction = _terms(log)
    holds = True
    for number, began in sorted(log.began.items()):
        terms = Terms(log.least.get(number, 0.0), worst_case, direction, log.against[number])
        for line in Derivation(log.bundle, began, detail(log.of[number]), terms).lines():
            holds = holds and line.holds
            yield line
    run = log.state.runs.get(log.id)
    if run is None or not holds:
        yield VerifiedLine(False, log.id, "the speed-up of the run does not follow")
        return
    try:
        found = headline(run)
        text = "no speed-up" if found is None else f"{told_headline(found, based=True)}, {base(found)}"
        yield VerifiedLine(True, log.id, f"{run.task} on {run.device}: {text}")
    except BAD_FIGURES as err:
        yield VerifiedLine(False, log.id, f"the speed-up of the run does not follow: {err}")
