"""The candidates of a recording as an agent: on a recorded host it proposes what was measured then, in its order."""

import asyncio

from kpd.agents.agent import AgentKind, Context, Exhausted, Proposal
from kpd.hosts.recorded.recording import BadRecording, load
from kpd.workspace.config import RECORDED, Config
from kpd.workspace.paths import expanded

NAME = "recorded"


class Recorded:
    """Each iteration of the run takes the next candidate, whatever became of the one before."""

    repairs = False
    reads_steering = False

    def __init__(self, config: Config) -> None:
        self._hosts = config.hosts

    async def propose(self, context: Context) -> Proposal:
        host = self._hosts.get(context.run.host)
        if host is None or host.transport != RECORDED:
            raise Exhausted(f"{context.run.host} plays no recording; name a recorded host with --host")
        try:
            recording = await asyncio.to_thread(load, context.workspace.root / expanded(host.options.recording))
        except BadRecording as err:
            raise Exhausted(str(err)) from err
        if recording.task != context.task.name:
            raise Exhausted(f"the recording that {context.run.host} plays is of {recording.task}")
        own = [it for it in context.run.iterations if it.agent == NAME and it.number < context.number]
        if len(own) >= len(recording.candidates):
            raise Exhausted(f"all {len(recording.candidates)} candidates of the recording have been played")
        found = recording.candidates[len(own)]
        files = {path: text.encode() for path, text in found.files.items()}
        return Proposal(files, found.memo, found.expected, found.point)

    async def close(self) -> None:
        """Holds nothing."""


AGENT = AgentKind(lambda config, of: Recorded(config), alone=True)
