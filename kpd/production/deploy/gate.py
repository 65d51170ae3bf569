"""Has a change approved by whoever answers elsewhere: an answer is a file, and names the change that it is about."""

import asyncio

from kpd.workspace.deployments import OpenDeployment
from kpd.workspace.run_files import digest

LOOK_S = 0.5


async def approved_elsewhere(opened: OpenDeployment, diff: str) -> bool:
    """Wait until somebody approves or declines this diff, and note who did. Raises OSError."""
    asked = digest(diff.encode())
    opened.note(asks=asked)
    while True:
        found = opened.answered
        if found is not None and found.diff == asked:
            opened.note(asks="", answered_by=found.by)
            return found.yes
        await asyncio.sleep(LOOK_S)
