"""Has a change approved by whoever answers elsewhere: an answer is a file, and names the change that it is about."""

import asyncio
from dataclasses import dataclass

from kpd.model import codec
from kpd.workspace.deployments import OpenDeployment
from kpd.workspace.run_files import NotRegularFile, digest

LOOK_S = 0.5


@dataclass(frozen=True, slots=True)
class GateAnswer:
    """What a person says of the change whose diff has the hash `diff`."""

    diff: str
    yes: bool
    by: str


async def approved_elsewhere(opened: OpenDeployment, diff: str) -> bool:
    """Wait until somebody approves or declines this diff, and note who did. Raises OSError."""
    asked = digest(diff.encode())
    opened.note(asks=asked)
    while True:
        found = _answer(opened)
        if found is not None and found.diff == asked:
            opened.note(asks="", answered_by=found.by)
            return found.yes
        await asyncio.sleep(LOOK_S)


def answer(opened: OpenDeployment, found: GateAnswer) -> None:
    """Answer the deployment that waits. Raises OSError."""
    opened.keep("answer", codec.encode(found))


def _answer(opened: OpenDeployment) -> GateAnswer | None:
    try:
        return codec.decode(opened.kept("answer"), GateAnswer)
    except (FileNotFoundError, NotRegularFile, codec.CodecError):
        return None
