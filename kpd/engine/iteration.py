"""One iteration: the steps in order, each journalled before and after, and what its end means."""

import time
from dataclasses import replace

from kpd.engine import taskfolder
from kpd.engine.attempt import Attempt, Fault
from kpd.engine.steps import STEPS, Step
from kpd.hosts.errors import HostError
from kpd.knowledge import memory
from kpd.model import events as e
from kpd.model.detail import Detail, detail
from kpd.model.nouns import Outcome


async def iterate(at: Attempt) -> None:
    """Run the iteration to its end, from its last finished step if some are in the log already.

    Host trouble is nobody's fault here: the run is paused with the reason, and the step is begun again after `resume`.
    """
    found = detail(at.journal.events(at.run_id, at.number))
    while True:
        at.number_of_attempt = len(found.faults) + 1
        try:
            found = await _steps(at, found)
        except Fault as fault:
            if at.agent.repairs and at.number_of_attempt <= at.run.budget.fix_attempts:
                found = _send_back(at, fault)
                continue
            await _record(at, fault.outcome, str(fault))
        else:
            assert found.judged is not None
            verdict = found.judged.verdict
            if at.is_baseline:
                noise = f"against itself: {verdict.gain.low:+.2f} … {verdict.gain.high:+.2f} %"
                await _record(at, "baseline", noise)
            elif verdict.accepted and at.run.incumbent not in (at.parent, at.number):
                reason = f"{verdict.reason}, but {at.run_id}.{at.run.incumbent} became the incumbent meanwhile"
                await _record(at, "rejected", reason)
            else:
                await _record(at, "accepted" if verdict.accepted else "rejected", verdict.reason)
        return


async def _steps(at: Attempt, found: Detail) -> Detail:
    for name, step in STEPS:
        if found.has(name):
            continue
        fact: e.StepFact | None = None
        while fact is None:
            await at.control.boundary()
            at.journal.emit(e.StepStarted(at.run_id, at.number, name, at.number_of_attempt))
            fact = await _timed(at, step, found)
        at.journal.emit(fact)
        found = found.with_fact(fact)
    return found


async def _timed(at: Attempt, step: Step, found: Detail) -> e.StepFact | None:
    """The step's fact with its wall time and kpd's own share of it; None when trouble has paused the run."""
    begun, elsewhere = time.perf_counter(), at.host.busy_s + at.agent_s
    try:
        fact: e.StepFact = await step(at, found)
    except (HostError, OSError) as err:
        at.journal.emit(e.RunPaused(at.run_id, f"infrastructure: {err}", by="kpd"))
        return None
    seconds = time.perf_counter() - begun
    overhead = max(0.0, seconds - (at.host.busy_s + at.agent_s - elsewhere))
    return replace(fact, seconds=seconds, overhead_s=overhead)


def _send_back(at: Attempt, fault: Fault) -> Detail:
    step = at.iteration.step or "propose"
    at.journal.emit(e.Faulted(at.run_id, at.number, step, at.number_of_attempt, str(fault)))
    return at.detail_of(at.number)


async def _record(at: Attempt, outcome: Outcome, reason: str) -> None:
    """Make the outcome durable: the incumbent, the task folder, the memory, then the end. Safe to repeat."""
    await at.control.boundary()
    at.journal.emit(e.StepStarted(at.run_id, at.number, "record", at.number_of_attempt))
    if outcome in ("baseline", "accepted"):
        files = at.candidate()
        if at.run.incumbent != at.number:
            at.journal.emit(e.Accepted(at.run_id, at.number, taskfolder.hashes(files)))
        show_incumbent(at, files)
    if outcome != "baseline":
        memory.append(at.workspace, at.run, at.iteration, outcome, reason)
    at.journal.emit(e.IterationEnded(at.run_id, at.number, outcome, reason))


def show_incumbent(at: Attempt, files: dict[str, bytes]) -> None:
    """Write the incumbent into the task folder, unless the operator has changed it: then that edit comes first."""
    try:
        taskfolder.write(at.live, files, at.run)
    except taskfolder.Conflict as err:
        at.journal.emit(e.Noticed("warning", f"{at.run_id}.{at.number} is accepted but not written: {err}"))
        return
    at.journal.emit(e.FolderWritten(at.run_id, taskfolder.hashes(files)))
