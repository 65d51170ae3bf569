"""The agent `cassette`: proposes the candidates of the cassette that its host replays, in their order."""

import asyncio

from kpd.agents.agent import AgentKind, Context, Exhausted, Proposal
from kpd.workspace.config import Config
from tests.support.cassette.cassette import BadCassette, load
from tests.support.cassette.host import NAME, folder_of


class Candidates:
    """Each iteration of the run takes the next candidate, whatever became of the one before."""

    repairs = False
    reads_steering = False

    def __init__(self, config: Config) -> None:
        self._hosts = config.hosts

    async def propose(self, context: Context) -> Proposal:
        host = self._hosts.get(context.run.host)
        if host is None or host.transport != NAME:
            raise Exhausted(f"{context.run.host} replays no cassette; name a host that does with --host")
        try:
            cassette = await asyncio.to_thread(load, folder_of(host, context.workspace))
        except BadCassette as err:
            raise Exhausted(str(err)) from err
        if cassette.task != context.task.name:
            raise Exhausted(f"the cassette that {context.run.host} replays is of {cassette.task}")
        own = [it for it in context.run.iterations if it.agent == NAME and it.number < context.number]
        if len(own) >= len(cassette.candidates):
            raise Exhausted(f"all {len(cassette.candidates)} candidates of the cassette have been replayed")
        found = cassette.candidates[len(own)]
        files = {path: text.encode() for path, text in found.files.items()}
        return Proposal(files, found.memo, found.expected, found.point)

    async def close(self) -> None:
        """Holds nothing."""


AGENT = AgentKind(lambda config, of: Candidates(config), alone=True)
