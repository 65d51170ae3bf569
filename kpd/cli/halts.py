"""Tells those who follow a run why it does not go on: what it waits for, why it is paused, why the queue is held."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kpd.cli.exit_codes import NOT_OVER, CliError
from kpd.cli.terminal_text import line
from kpd.model import events as e
from kpd.model.notices import NotDeployed
from kpd.model.run import Run
from kpd.model.status import Paused
from kpd.model.waits import DeviceBusy, ForLease, ForService, ForTurn, Pause, PausedBy, Silent, Wait
from kpd.text import preparing, waits
from kpd.text.deployments import headline
from kpd.text.notices import told


class Halts:
    """Tells what changes the going on of a run, and of its winner's deployment.

    A wait that comes again before the iteration has ended is told once.
    """

    def __init__(self, run: str) -> None:
        self._run = run
        self._told: set[object] = set()

    def say(self, fact: e.Fact) -> str:
        """Say what an event changes; empty where it changes nothing, or nothing new."""
        match fact:
            case e.IterationEnded(run=of) if of == self._run:
                self._told.clear()
            case e.QueueHeld(hold=cause):
                return f"the queue is held: {line(waits.hold(cause))}; kpd resume releases it"
            case e.QueueReleased():
                return "the queue goes on"
            case e.RunStarted(run=of, device=device) if of == self._run:
                return f"{of} started on {line(device)}"
            case e.RunWaits(run=of, wait=wait) if of == self._run and wait is not None:
                return self._once(wait)
            case e.RunPaused(run=of, cause=cause) if of == self._run:
                return _paused(of, cause)
            case e.RunResumed(run=of) if of == self._run:
                return f"{of} goes on"
            case e.PhaseBegun(run=of, phase=phase) if of == self._run:
                return f"{phase}: {preparing.PHASES[phase]}"
            case e.PhaseEnded(run=of) as ended if of == self._run:
                return line(preparing.ended(ended))
            case e.DeploymentSeen(run=of, card=card) if of == self._run:
                return line(headline(card))
            case e.DeployNotBegun(run=of, project=project, said=said) if of == self._run:
                return told(NotDeployed(of, project, said))
        return ""

    def _once(self, wait: Wait) -> str:
        own = isinstance(wait, ForTurn) and wait.who == self._run  # its last checks, or another lane: that is short
        if own or (why := _reason(wait)) in self._told:
            return ""
        self._told.add(why)
        return f"{self._run} waits: {line(waits.wait(wait))}"


def _reason(wait: Wait) -> object:
    """Return what two waits have in common that differ in who measures, and in how long it takes, only."""
    match wait:
        case DeviceBusy(trouble=trouble):
            return trouble.trouble
        case ForLease() | ForTurn() | Silent():
            return type(wait)
        case ForService(said=said):
            return said
    return wait


def now(run: Run) -> str:
    """Say why the run does not go on now; empty where it does."""
    if isinstance(run.status, Paused):
        return _paused(run.id, run.status.cause)
    if run.waiting is None:
        return line(preparing.now(run))
    return f"{run.id} waits: {line(waits.wait(run.waiting))}"


def _paused(run: str, cause: Pause) -> str:
    how = "" if isinstance(cause, PausedBy) else "paused: "
    return f"{run} is {how}{line(waits.pause(cause))}; kpd resume {run} goes on"


@asynccontextmanager
async def waiting_at_most(seconds: float | None, run: str) -> AsyncIterator[None]:
    """Wait in this block for so long, None: without end. Raises CliError when the time is over; the run goes on."""
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            yield
    except TimeoutError as err:
        if not limit.expired():
            raise
        raise CliError(
            f"{run} is not over after {seconds:g} s, and goes on", f"kpd log -f {run} watches it", NOT_OVER
        ) from err
