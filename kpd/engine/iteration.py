"""Executes one iteration: its steps in order, each recorded before and after."""

import time
from contextlib import nullcontext
from dataclasses import replace

from kpd.claude.errors import OverBudget, Unavailable
from kpd.engine.attempt import Attempt, CandidateFailed
from kpd.engine.blame import tried
from kpd.engine.host_trouble import RunRestart, handle_trouble
from kpd.engine.steps import STEPS, Step, StepResult
from kpd.hosts.errors import HostError
from kpd.model import events as e
from kpd.model.detail import Detail
from kpd.model.waits import ServiceTrouble


async def iterate(attempt: Attempt) -> None:
    """Run the iteration to its end, from the first step that is not in the log yet.

    A candidate's fault goes back to its agent, which repairs it in the next attempt, or else it ends the iteration.
    Trouble with the host or the disk is not the candidate's fault: it raises RunRestart, and the step is begun again
    later. Trouble that a candidate can provoke is the host's only if the incumbent has it, too (see engine.blame).
    """
    found = attempt.detail_of(attempt.number)
    while found.ended is None:
        attempt.number_of_attempt = len(found.faults) + 1
        await attempt.control.checkpoint()
        step = following(attempt, found)
        fact: StepResult | e.Faulted | e.MeasurementBroken
        try:
            fact = await _taken(attempt, step, found)
        except CandidateFailed as fault:
            if not _mended(attempt, step, fault):
                attempt.fault = fault
                continue
            fact = e.Faulted(
                attempt.run_id, attempt.number, step.name, attempt.number_of_attempt, fault.what, fault.feedback
            )
        attempt.journal.emit(fact)
        found = found.with_fact(fact)


def following(attempt: Attempt, found: Detail) -> Step:
    """Return the next wanted step after those that are done; the last step when a fault ends the iteration."""
    done = max((nth for nth, step in enumerate(STEPS) if found.has(step.name)), default=-1)
    left = STEPS[done + 1 :] if attempt.fault is None else STEPS[-1:]
    return next(step for step in left if step.wanted(attempt))


def _mended(attempt: Attempt, step: Step, fault: CandidateFailed) -> bool:
    """Return whether the agent is asked to repair the fault. The step `propose` asks again by itself."""
    mendable = attempt.agent.repairs and step.name != "propose" and not fault.final
    return mendable and attempt.number_of_attempt <= attempt.run.budget.fix_attempts


async def _taken(attempt: Attempt, step: Step, found: Detail) -> StepResult | e.MeasurementBroken:
    """Take the step and return its result. Trouble is handled, and then raises RunRestart."""

    async def take(who: Attempt) -> StepResult:
        with attempt.control.step():
            async with attempt.turn() if use == "measures" else nullcontext():
                return await _timed(who, step, found)

    try:
        use = step.use(attempt, found)
        attempt.journal.emit(e.StepStarted(attempt.run_id, attempt.number, step.name, attempt.number_of_attempt, use))
        return await tried(attempt, step, found, take)
    except (Unavailable, OverBudget) as err:
        cause = err.over if isinstance(err, OverBudget) else ServiceTrouble(err.message, err.remedy)
        attempt.journal.emit(e.RunPaused(attempt.run_id, cause, by="kpd", infra=True))
        raise RunRestart from err
    except (HostError, OSError) as err:
        await handle_trouble(attempt.journal, attempt.control, attempt.run_id, attempt.host, err)
        raise RunRestart from err


async def _timed(attempt: Attempt, step: Step, found: Detail) -> StepResult:
    """Take the step; return its fact with its wall time and the part of that which was kpd's own work, in seconds."""
    begun, elsewhere = time.perf_counter(), attempt.elsewhere_s
    fact = await step.take(attempt, found)
    if isinstance(fact, e.IterationEnded):
        return fact
    seconds = time.perf_counter() - begun
    return replace(fact, seconds=seconds, overhead_s=max(0.0, seconds - (attempt.elsewhere_s - elsewhere)))
