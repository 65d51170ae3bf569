"""Makes an agent of a folder: a script or a person proposes by answering `prompt.md` with `reply.md`."""

import asyncio
import os
from collections.abc import Callable
from itertools import count
from pathlib import Path

from kpd.agents.agent import Agent, AgentKind, BadReply, Context, Proposal
from kpd.agents.prompting import proposal_of, whole_prompt
from kpd.model.waits import ForReply
from kpd.workspace.paths import OutsideFolder, inside
from kpd.workspace.run_files import read_plain

PROMPT, REPLY, REJECTED = "prompt.md", "reply.md", "reply.rejected.md"
EVERY_S = 0.5
Seen = tuple[int, int, int] | None
"""A file at the last look: its inode, size and time of change; None if there is none."""


class Mailbox(Agent):
    """An agent that is a folder. `compose` writes the prompt, in a thread. No state is lost in a restart.

    The first line of prompt.md names the question. A daemon that starts again finds it, leaves the prompt as it is and
    takes the reply that may have come meanwhile. A reply that is there when another question is asked belongs to the
    earlier question, and is renamed.
    """

    repairs = True
    reads_steering = True

    def __init__(self, compose: Callable[[Context], str], every_s: float = EVERY_S) -> None:
        self._compose = compose
        self._every_s = every_s

    async def propose(self, context: Context) -> Proposal:
        await self._ask(context)
        try:
            return await self._answer(context)
        finally:
            context.waits(None)

    async def _ask(self, context: Context) -> None:
        mark, before = f"<!-- {_question(context)} -->", _first_line(context.home)
        if before == mark:
            return
        text = await asyncio.to_thread(self._compose, context)
        if before:
            put_aside(context.home)
        how = f"Answer in {context.home / REPLY}, best written under another name and then renamed."
        context.keep(PROMPT, f"{mark}\n{how}\n\n{text}")

    async def _answer(self, context: Context) -> Proposal:
        """Wait for a reply that can be used, and return its proposal.

        A reply that cannot be used stays where it is, and is ignored until it changes.
        """
        path = context.home / REPLY
        waits, before, refused = ForReply(str(path), PROMPT), seen(path), None
        while True:
            context.waits(waits)  # each time: a restart may have cleared it
            now = seen(path)
            if now is not None and now == before and now != refused:
                try:
                    return await asyncio.to_thread(_proposal, context)
                except BadReply as err:
                    refused = now
                    context.keep(REJECTED, _rejected(context.home, str(err)))
                    waits = ForReply(str(path), PROMPT, str(err))
            before = now
            await asyncio.sleep(self._every_s)


def _question(context: Context) -> str:
    """Name a question: the same name for the same question, another one after each failure of the iteration."""
    failure = context.failure
    asked = f"{failure.number + 1}, after {failure.step}" if failure is not None else "1"
    return f"{context.run.id}.{context.number}, question {asked}"


def _first_line(home: Path) -> str:
    try:
        return read_plain(home / PROMPT).decode(errors="replace").partition("\n")[0]
    except OSError:
        return ""


def put_aside(home: Path) -> None:
    """Rename the reply to an earlier question to a free name. Raises OSError."""
    if os.path.lexists(home / REPLY):
        free = (home / f"reply_{number}.md" for number in count(1))
        (home / REPLY).rename(next(path for path in free if not os.path.lexists(path)))


def seen(path: Path) -> Seen:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _text(home: Path) -> str:
    """Read the reply. Raises BadReply for anything but a plain file, which could block or lie elsewhere."""
    try:
        return read_plain(inside(home, REPLY)).decode(errors="replace")
    except OutsideFolder as err:
        raise BadReply(f"{err}; put the file itself there") from err
    except OSError as err:
        raise BadReply(f"{REPLY}: {err.strerror}") from err


def _proposal(context: Context) -> Proposal:
    return proposal_of(_text(context.home), context)


def _rejected(home: Path, reason: str) -> str:
    """Return the text of reply.rejected.md: the reason, then the reply as far as it can be read."""
    top = f"This reply cannot be used: {reason}\n\nWrite {REPLY} anew. What was in it:\n\n"
    try:
        return top + _text(home)
    except BadReply:
        return top


AGENT = AgentKind(lambda config, of: Mailbox(whole_prompt))
