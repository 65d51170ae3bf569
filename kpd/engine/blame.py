"""Decides who is to blame for trouble in a measurement: the host, or a candidate that provokes it."""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import replace

from kpd.engine.attempt import Attempt, CandidateFailed, Unconfirmed
from kpd.engine.steps import Step
from kpd.hosts.errors import HostError, HostErrorKind
from kpd.measure.compiling import BuildError
from kpd.model import events as e
from kpd.model.detail import Detail
from kpd.model.faults import BreaksMeasurement

HOSTS_OWN: frozenset[HostErrorKind] = frozenset(
    {"unreachable", "auth", "host_key", "no_python", "config", "no_compiler", "helper_died"}
)
"""Troubles of the link, or of what the host has: no candidate is suspected of them."""
FAULTS = 2
"""So many troubles of a candidate, each of which the incumbent did not have, reject it."""
BUSY_FAULTS = 4
"""The same where the device was busy: other work comes and goes by chance."""

TakeStep = Callable[[Attempt], Awaitable[object]]


def is_suspect(attempt: Attempt, step: Step, err: Exception) -> bool:
    """Return whether the candidate may have provoked the error. The baseline is trusted: the host is at fault then."""
    return step.runs and isinstance(err, HostError) and err.kind not in HOSTS_OWN and not attempt.is_baseline


async def suspected(attempt: Attempt, step: Step, found: Detail, err: HostError, take: TakeStep) -> e.MeasurementBroken:
    """Take the step again with the incumbent in the candidate's place, and return the fact that this went well.

    Nothing of it is kept but that fact, so after a restart the step begins anew, and no trouble counts twice. Raises
    CandidateFailed when the candidate has had such trouble too often, or Unconfirmed if it was accepted before; and
    HostError when the incumbent has it, too.
    """
    before = [one for one in found.broken if one.step == step.name and (one.trouble.trouble == "busy") == _busy(err)]
    if len(before) + 1 >= (BUSY_FAULTS if _busy(err) else FAULTS):
        if attempt.iteration.confirming:  # nothing was measured, so its gain is neither there nor not
            raise Unconfirmed(str(err)) from err
        raise CandidateFailed(BreaksMeasurement(step.name, err.fact), final=True) from err
    try:
        await take(replace(attempt, in_place=secrets.token_hex(4)))
    except (CandidateFailed, BuildError, Unconfirmed) as own:
        raise err from own
    return e.MeasurementBroken(attempt.run_id, attempt.number, step.name, attempt.number_of_attempt, err.fact)


def _busy(err: HostError) -> bool:
    return err.kind == "busy"
