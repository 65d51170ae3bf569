"""Ends a run before its plan does, and writes what people read of a run that has ended."""

from kpd.engine.journal import Journal, run_of
from kpd.engine.record import write_report
from kpd.knowledge import patterns
from kpd.model import events as e
from kpd.model.causes import RunCause, RunOver, Stopped
from kpd.model.notices import NotMeasuredAgain, NotWritten
from kpd.model.status import RunOutcome
from kpd.workspace.paths import Workspace


def break_off(journal: Journal, run_id: str, outcome: RunOutcome, cause: RunCause) -> None:
    """End the run before its plan does, and first the iterations that may be under way.

    A run that had ended and was reopened for one more contest keeps the end that it had. A notice says why there was no
    contest, unless a person did not want it any more.
    """
    run = run_of(journal, run_id)
    for it in run.open:
        journal.emit(e.IterationEnded(run_id, it.number, "interrupted", RunOver(cause)))
    if run.reopened is not None:
        if not isinstance(cause, Stopped):
            journal.emit(e.Noticed("warning", NotMeasuredAgain(run_id, cause)))
        outcome, cause = run.reopened.outcome, run.reopened.cause
    journal.emit(e.RunEnded(run_id, outcome, cause))


def report_end(workspace: Workspace, journal: Journal, run_id: str) -> None:
    """Write the report of a run that has ended, and what was learned. Its events hold everything in any case."""
    try:
        write_report(workspace, run_of(journal, run_id))
        patterns.regenerate(workspace)
    except OSError as err:
        journal.emit(e.Noticed("warning", NotWritten(run_id, str(err))))
