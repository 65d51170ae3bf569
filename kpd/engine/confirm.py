"""Acts on a contest of an accepted candidate against the baseline: one that does not hold there gives way."""

from typing import Literal

from kpd.engine import edits
from kpd.engine.attempt import Attempt
from kpd.knowledge import memory
from kpd.model import events as e
from kpd.model.detail import Detail
from kpd.model.headline import headline, lineage
from kpd.model.iteration import Iteration
from kpd.model.notices import DoesNotHold
from kpd.model.run import Run

WHY = "measured against the baseline, it was no faster"


def confirm(attempt: Attempt, found: Detail) -> None:
    """Compare the contest with the number so far, and tell where it does not hold. It is safe to repeat.

    At the end of a run, an incumbent that is no faster than the baseline gives way to the one it was built on, which is
    measured next. One that a person has chosen stays. Raises OSError.
    """
    run, of = attempt.run, attempt.iteration.again
    if of is None or of != run.incumbent:  # somebody has decided otherwise meanwhile
        return
    known = headline(run)
    earlier = known.speedup if known is not None else None
    now = found.judged.verdict.gain.speedup if found.judged is not None and attempt.fault is None else None
    held = now is not None and now.low > 1
    if held and (earlier is None or now is None or now.high >= earlier.low):
        return
    instead = None if held or attempt.iteration.confirming != "end" or chosen(run) else before(run, of)
    if instead is not None:
        give_way(attempt, run, instead, WHY, "contest")
    number = instead.number if instead is not None else None
    attempt.journal.emit(e.Noticed("warning", DoesNotHold(run.id, of, now, earlier, number)))


def chosen(run: Run) -> bool:
    """Return whether a person made the incumbent what it is."""
    return run.before is not None or (run.best is not None and run.best.override is not None)


def before(run: Run, of: int) -> Iteration | None:
    """Return what iteration `of` was built on: the newest accepted one without a known fault, or the baseline."""
    line = (it for it in lineage(run, of) if it.number != of)
    return next((it for it in line if it.outcome in ("accepted", "baseline") or it.override), None)


def give_way(attempt: Attempt, run: Run, instead: Iteration, reason: str, why: Literal["contest", "sanitizer"]) -> None:
    """Make the iteration `instead` the incumbent; the memory keeps the `reason`. Raises OSError."""
    files = attempt.files_of(instead.number)
    memory.overruled(
        attempt.workspace, run, instead, reason, attempt.iteration.started, attempt.bench.device.arch, by_hand=False
    )
    attempt.journal.emit(e.GaveWay(run.id, instead.number, edits.hashes(files), run.incumbent or 0, why))
    edits.show_incumbent(attempt.workspace, attempt.journal, run.id, files)
