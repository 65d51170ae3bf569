"""One iteration: its steps in order, each journalled before and after."""

import time
from contextlib import nullcontext
from dataclasses import replace

from kpd.claude.errors import OverBudget, Unavailable
from kpd.engine.attempt import Attempt, Fault
from kpd.engine.hosting import Again, trouble
from kpd.engine.steps import STEPS, Done, Step
from kpd.hosts.errors import HostError
from kpd.model import events as e
from kpd.model.detail import Detail
from kpd.model.standing import ServiceTrouble


async def iterate(at: Attempt) -> None:
    """Run the iteration to its end, behind the last step that is in the log already.

    A candidate's fault goes back to its agent, who mends it in the next attempt, or else ends the iteration. Trouble
    with the host or the disk is nobody's fault: it raises Again, and the step is begun again later.
    """
    found = at.detail_of(at.number)
    while found.ended is None:
        at.number_of_attempt = len(found.faults) + 1
        await at.control.boundary()
        step = following(at, found)
        fact: Done | e.Faulted
        try:
            fact = await _taken(at, step, found)
        except Fault as fault:
            if not _mended(at, step, fault):
                at.fault = fault
                continue
            fact = e.Faulted(at.run_id, at.number, step.name, at.number_of_attempt, fault.what, fault.feedback)
        at.journal.emit(fact)
        found = found.with_fact(fact)


def following(at: Attempt, found: Detail) -> Step:
    """The step that comes behind all those that are done; where a fault ends the iteration, the last one."""
    done = max((nth for nth, step in enumerate(STEPS) if found.has(step.name)), default=-1)
    left = STEPS[done + 1 :] if at.fault is None else STEPS[-1:]
    return next(step for step in left if step.wanted(at))


def _mended(at: Attempt, step: Step, fault: Fault) -> bool:
    """Whether the agent is asked to mend it. An answer that could not be used has been asked for again already."""
    mendable = at.agent.repairs and step.name != "propose" and not fault.final
    return mendable and at.number_of_attempt <= at.run.budget.fix_attempts


async def _taken(at: Attempt, step: Step, found: Detail) -> Done:
    """What the step comes to. Trouble pauses the run with the reason, and raises Again."""
    try:
        use = step.use(at, found)
        at.journal.emit(e.StepStarted(at.run_id, at.number, step.name, at.number_of_attempt, use))
        with at.control.step():
            async with at.turn() if use == "measures" else nullcontext():
                return await _timed(at, step, found)
    except (Unavailable, OverBudget) as err:
        cause = err.over if isinstance(err, OverBudget) else ServiceTrouble(err.message, err.remedy)
        at.journal.emit(e.RunPaused(at.run_id, cause, by="kpd", infra=True))
        raise Again from err
    except (HostError, OSError) as err:
        await trouble(at.journal, at.control, at.run_id, at.host, err)
        raise Again from err


async def _timed(at: Attempt, step: Step, found: Detail) -> Done:
    """The step's fact with its wall time, and the part of it that was kpd's own work."""
    begun, elsewhere = time.perf_counter(), at.elsewhere_s
    fact = await step.take(at, found)
    if isinstance(fact, e.IterationEnded):
        return fact
    seconds = time.perf_counter() - begun
    return replace(fact, seconds=seconds, overhead_s=max(0.0, seconds - (at.elsewhere_s - elsewhere)))
