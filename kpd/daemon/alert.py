"""Runs `[notify] command` when a run has ended, is stuck or waits for a person."""

import asyncio
import os

from kpd.engine.journal import Journal
from kpd.model import events as e
from kpd.model.notices import InProduction, NotDeployed, NotifyFailed, Unguarded
from kpd.model.waits import ForPermission, Hold
from kpd.text.endings import run_ended
from kpd.text.foreign import plain
from kpd.text.notices import told, watchdog_notice
from kpd.text.waits import approval, hold, pause, wait

LIMIT_S = 30
LONGEST = 1000


def worth_telling(fact: e.Fact) -> str | None:
    """Return the sentence to send for a fact, or None for the many facts that nobody needs to act on."""
    match fact:
        case e.RunEnded(run=run, outcome=outcome, cause=cause):
            return f"{run} ended: {outcome.replace('_', ' ')} ({run_ended(cause)})"
        case e.RunPaused(run=run, cause=cause, infra=True):
            return f"{run} waits for you: {pause(cause)}"
        case e.ReviewAsked(run=run, iteration=number):
            return approval(run, number)
        case e.RunWaits(wait=ForPermission() as cause):
            return wait(cause)
        case e.QueueHeld(hold=cause):
            return held(cause)
        case e.DeploymentSeen(card=card) if card.wants_person or (card.deployment.unattended and card.ended):
            return told(InProduction(card))
        case e.DeployNotBegun(run=run, project=project, said=said):
            return told(NotDeployed(run, project, said))
        case e.Noticed(about=Unguarded() as about):
            return told(about)
        case e.DeviceIdle() | e.StepStalled():
            return watchdog_notice(fact)
    return None


def held(cause: Hold | None) -> str | None:
    """Return the sentence to send for a held queue; None where it is not held."""
    return f"the queue waits for you: {hold(cause)}" if cause else None


async def tell(command: tuple[str, ...], text: str, journal: Journal) -> None:
    """Run the operator's command without a shell, with the sentence as $KPD_TEXT and as its last argument.

    It is one printable line: others' words are in it, and no argument can have a NUL.
    """
    text = plain(text, LONGEST)
    try:
        child = await asyncio.create_subprocess_exec(
            *command, text, env={**os.environ, "KPD_TEXT": text},
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
    except OSError as err:
        journal.emit(e.Noticed("warning", NotifyFailed(command[0], error=str(err.strerror))))
        return
    try:
        code = await asyncio.wait_for(child.wait(), LIMIT_S)
    except TimeoutError:
        child.kill()
        journal.emit(e.Noticed("warning", NotifyFailed(command[0], limit_s=LIMIT_S)))
        return
    if code:
        journal.emit(e.Noticed("warning", NotifyFailed(command[0], code=code)))
