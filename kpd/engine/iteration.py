"""One iteration: the steps in order, each journalled before and after, and what its end means."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from kpd.claude.errors import OverBudget, Unavailable
from kpd.engine import edits, taskfolder
from kpd.engine.attempt import Attempt, Fault
from kpd.engine.hosting import Again, trouble
from kpd.engine.report import write_report
from kpd.engine.review import approved
from kpd.engine.steps import STEPS, Step
from kpd.hosts.errors import HostError
from kpd.knowledge import memory
from kpd.model import events as e
from kpd.model.detail import Detail, detail
from kpd.model.nouns import Outcome, StepName

T = TypeVar("T")
GATE: StepName = "stage"
"""The first step that does something with a candidate: before it a person may want to look."""


async def iterate(at: Attempt) -> None:
    """Run the iteration to its end, from its last finished step if some are in the log already.

    Trouble with the host or the disk is nobody's fault here: it raises Again, and the step is begun again later.
    """
    found = detail(at.journal.events(at.run_id, at.number))
    while True:
        fault: Fault | None = None
        at.number_of_attempt = len(found.faults) + 1
        try:
            found = await _steps(at, found)
        except Fault as err:
            # An answer that could not be used has been asked for again already.
            mendable = at.agent.repairs and err.step != "propose" and not err.final
            if mendable and at.number_of_attempt <= at.run.budget.fix_attempts:
                again = e.Faulted(at.run_id, at.number, err.step, at.number_of_attempt, str(err), err.feedback)
                at.journal.emit(again)
                found = at.detail_of(at.number)
                continue
            fault = err
        outcome, reason = await _journalled(at, "record", partial(_record, at, fault))
        at.journal.emit(e.IterationEnded(at.run_id, at.number, outcome, reason))
        return


async def _steps(at: Attempt, found: Detail) -> Detail:
    for name, step in STEPS:
        if not found.has(name):
            if name == GATE:
                await approved(at)
            fact = await _journalled(at, name, partial(_timed, at, step, found))
            at.journal.emit(fact)
            found = found.with_fact(fact)
    return found


async def _timed(at: Attempt, step: Step, found: Detail) -> e.StepFact:
    """The step's fact with its wall time, and the part of it that was kpd's own work."""
    begun, elsewhere = time.perf_counter(), at.elsewhere_s
    fact = await step(at, found)
    seconds = time.perf_counter() - begun
    return replace(fact, seconds=seconds, overhead_s=max(0.0, seconds - (at.elsewhere_s - elsewhere)))


async def _journalled(at: Attempt, name: StepName, step: Callable[[], Awaitable[T]]) -> T:
    """What the step returns. Trouble pauses the run with the reason, and raises Again."""
    await at.control.boundary()
    at.journal.emit(e.StepStarted(at.run_id, at.number, name, at.number_of_attempt))
    try:
        with at.control.step():
            return await step()
    except Fault as fault:
        fault.step = name
        raise
    except (Unavailable, OverBudget) as err:
        at.journal.emit(e.RunPaused(at.run_id, str(err), by="kpd", infra=True))
        raise Again from err
    except (HostError, OSError) as err:
        await trouble(at.journal, at.control, at.run_id, at.host, err)
        raise Again from err


async def _record(at: Attempt, fault: Fault | None) -> tuple[Outcome, str]:
    """Make the outcome last: the incumbent, the task folder, the memory. Safe to repeat."""
    found = at.detail_of(at.number)
    outcome, reason = (fault.outcome, str(fault)) if fault is not None else _outcome(at, found)
    if outcome in ("baseline", "accepted") and found.accepted is None:
        at.journal.emit(e.Accepted(at.run_id, at.number, taskfolder.hashes(at.candidate())))
    if at.run.incumbent == at.number:
        edits.show(at.workspace, at.journal, at.run_id, at.candidate())
    if outcome != "baseline":
        before = at.detail_of(at.parent).profiled
        memory.append(
            at.workspace, at.run, at.iteration, outcome, reason,
            before.metrics if before else {}, found.profiled.metrics if found.profiled else {}, at.bench.device.arch,
        )  # fmt: skip
    write_report(at.workspace, at.run, at.task.bench.direction)
    return outcome, reason


def _outcome(at: Attempt, found: Detail) -> tuple[Outcome, str]:
    """What the verdict means now: the incumbent may have changed since it was judged."""
    assert found.judged is not None
    verdict = found.judged.verdict
    if at.is_baseline:
        return "baseline", f"against itself: {verdict.gain.low:+.2f} … {verdict.gain.high:+.2f} %"
    if at.iteration.again is not None and at.candidate() == at.files_of(at.parent):
        return "rejected", f"the incumbent against itself: {verdict.reason}"
    if verdict.accepted and found.accepted is None and at.run.incumbent != at.parent:
        return "rejected", f"{verdict.reason}, but {at.run_id}.{at.run.incumbent} became the incumbent meanwhile"
    return "accepted" if verdict.accepted else "rejected", verdict.reason
