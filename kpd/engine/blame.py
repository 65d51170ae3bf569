"""Decides who is to blame for trouble in a measurement: the host, or a candidate that provokes it."""

import secrets
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import TypeVar

from kpd.engine.attempt import Attempt, CandidateFailed, Unconfirmed
from kpd.engine.host_trouble import IncumbentHasIt
from kpd.engine.steps import Step
from kpd.engine.waiting import set_waiting
from kpd.hosts.errors import LOST, LOST_BUILDS, HostError, HostErrorKind, LostBuild
from kpd.measure.compiling import BuildError
from kpd.measure.seeds import same_numbers
from kpd.model import events as e
from kpd.model.causes import ContestBroken, TooBusy
from kpd.model.detail import Detail
from kpd.model.faults import BreaksMeasurement
from kpd.model.notices import BuiltAgain
from kpd.model.waits import ForIncumbent
from kpd.text.faults import fault

HOSTS_OWN: frozenset[HostErrorKind] = LOST | {"auth", "host_key", "no_python", "config", "no_compiler"}
"""Troubles of the link, or of what the host has: no candidate is suspected of them.

A helper that dies comes to no step: a request is sent again, and a job, which goes on meanwhile, is followed again.
"""
FAULTS = 2
"""So many troubles of a candidate, each of which the incumbent did not have, reject it; also where there is none."""
BUSY_FAULTS = 4
"""The same where the device was busy: other work comes and goes by chance."""

Result = TypeVar("Result")
TakeStep = Callable[[Attempt], Awaitable[Result]]


async def tried(attempt: Attempt, step: Step, found: Detail, take: TakeStep[Result]) -> Result | e.MeasurementBroken:
    """Take the step. Where that meets trouble which the candidate may have provoked, find out whose it is.

    Raises what the step raises; CandidateFailed and Unconfirmed where the trouble is the candidate's, else HostError.
    """
    with same_numbers() if step.runs else nullcontext():
        return await _tried(attempt, step, found, take)


async def _tried(attempt: Attempt, step: Step, found: Detail, take: TakeStep[Result]) -> Result | e.MeasurementBroken:
    try:
        return await with_builds(attempt, found, take)
    except HostError as err:
        if attempt.iteration.confirming and err.kind == "busy":
            raise Unconfirmed(TooBusy(str(err))) from err
        if not is_suspect(attempt, step, err):
            raise
        return await _suspected(attempt, step, found, err, take)


def is_suspect(attempt: Attempt, step: Step, err: HostError) -> bool:
    """Return whether the candidate may have provoked the error. The task's own files are trusted: the host has it then.

    While a run has no incumbent to try in a candidate's place, nothing tells whose work keeps the device busy: the run
    waits until it is free.
    """
    own = attempt.is_tasks_own or (attempt.is_baseline and _busy(err))
    return step.runs and err.kind not in HOSTS_OWN and not own


async def with_builds(attempt: Attempt, found: Detail, take: TakeStep[Result]) -> Result:
    """Take the step. Where something is not there as it was built, prepare the bench, which builds it again.

    The step is then taken once more, unless the file was as it was built when this step began to use it. Raises what
    the step raises.
    """
    try:
        return await take(attempt)
    except HostError as err:
        if err.kind not in LOST_BUILDS:
            raise
        attempt.bench = await attempt.prepare()
        if err.kind == "corrupt":
            raise
        if isinstance(err, LostBuild) and err.kind == "stale":
            about = BuiltAgain(attempt.run_id, err.path, attempt.host.name, _built_for(attempt, found, err.built))
            attempt.journal.emit(e.Noticed("warning", about))
    return await take(attempt)


def _built_for(attempt: Attempt, found: Detail, job: str) -> int | None:
    """Return the iteration of this contest whose build job this is; None where it is not one of a candidate."""
    known = {attempt.parent: attempt.detail_of(attempt.parent).built, attempt.number: found.built}
    return next((number for number, built in known.items() if built is not None and built.job == job), None)


async def _suspected(
    attempt: Attempt, step: Step, found: Detail, err: HostError, take: TakeStep[Result]
) -> e.MeasurementBroken:
    """Take the step again with the incumbent in the candidate's place, and return the fact that this went well.

    Where there is no incumbent yet, only the trouble is counted. Both meet the same secret seeds. Nothing of it is kept
    but that fact, so after a restart the step begins anew, and no trouble counts twice. Raises CandidateFailed when the
    candidate has had such trouble too often, or Unconfirmed if it was accepted before; and HostError when the incumbent
    has it, too.
    """
    before = [one for one in found.broken if one.step == step.name and (one.trouble.trouble == "busy") == _busy(err)]
    if len(before) + 1 >= (BUSY_FAULTS if _busy(err) else FAULTS):
        if attempt.iteration.confirming:  # nothing was measured, so its gain is neither there nor not
            raise Unconfirmed(ContestBroken(err.fact)) from err
        raise CandidateFailed(BreaksMeasurement(step.name, err.fact, attempt.is_baseline), final=True) from err
    broken = e.MeasurementBroken(attempt.run_id, attempt.number, step.name, attempt.number_of_attempt, err.fact)
    if attempt.is_baseline:
        return broken
    set_waiting(
        attempt.journal, attempt.run, ForIncumbent(attempt.run_id, attempt.parent, step.name, err.fact), attempt.lane
    )
    in_place = replace(attempt, in_place=secrets.token_hex(4))
    try:
        await with_builds(in_place, found, take)
    except (CandidateFailed, BuildError, HostError) as own:
        if isinstance(own, HostError) and (own.kind in LOST or _busy(own)):
            raise
        said = fault(own.what) if isinstance(own, CandidateFailed) else str(own)
        raise IncumbentHasIt(err, attempt.run_id, attempt.parent, said) from own
    finally:
        attempt.bench = in_place.bench  # it may have been prepared again
        set_waiting(attempt.journal, attempt.run, None, attempt.lane)
    return broken


def _busy(err: HostError) -> bool:
    return err.kind == "busy"
