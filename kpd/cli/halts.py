"""Tells those who follow a run why it does not go on: what it waits for, why it is paused, why the queue is held."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kpd.cli.exit_codes import NOT_OVER, CliError
from kpd.cli.terminal_text import line
from kpd.model import events as e
from kpd.model.run import Run
from kpd.model.status import Paused
from kpd.model.waits import Pause, PausedBy
from kpd.text import waits


def halt(fact: e.Fact, run: str) -> str:
    """Say what an event changes about the going on of a run; empty where it changes nothing."""
    match fact:
        case e.QueueHeld(hold=cause):
            return f"the queue is held: {line(waits.hold(cause))}; kpd resume releases it"
        case e.QueueReleased():
            return "the queue goes on"
        case e.RunStarted(run=of, device=device) if of == run:
            return f"{run} started on {line(device)}"
        case e.RunWaits(run=of, wait=wait) if of == run and wait is not None:
            return f"{run} waits: {line(waits.wait(wait))}"
        case e.RunPaused(run=of, cause=cause) if of == run:
            return _paused(run, cause)
        case e.RunResumed(run=of) if of == run:
            return f"{run} goes on"
    return ""


def now(run: Run) -> str:
    """Say why the run does not go on now; empty where it does."""
    if isinstance(run.status, Paused):
        return _paused(run.id, run.status.cause)
    return f"{run.id} waits: {line(waits.wait(run.waiting))}" if run.waiting is not None else ""


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
