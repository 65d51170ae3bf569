"""Starts a coding agent for one turn of its session, with what it may use, and ends it after that."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from kpd.agents.agent import Context
from kpd.claude.errors import Unavailable
from kpd.hosts.own_network import can_isolate
from kpd.model import events as e
from kpd.model.run import Run
from kpd.model.session import KPD
from kpd.sessions import program
from kpd.sessions.asking import Asking
from kpd.sessions.cleaning import TextCleaner
from kpd.sessions.conversation import Conversation, told_usd
from kpd.sessions.exec_talk import ExecTalk
from kpd.sessions.folder import SessionFolder
from kpd.sessions.given import ToolServer
from kpd.sessions.network import AgentNetwork, reach_of
from kpd.sessions.past import Past
from kpd.sessions.permissions import Asks
from kpd.sessions.terms import OPEN, names_hosts, secrets
from kpd.sessions.turn import Talk
from kpd.workspace.coding_agents import AgentConfig
from kpd.workspace.endpoints import Endpoint
from kpd.workspace.environment import keys
from kpd.workspace.paths import Workspace

LEAST_S = 60.0
"""Seconds that a prompt after the first one gets at least, or the whole limit if that is shorter."""


@dataclass(frozen=True, slots=True)
class AgentPlace:
    """The agent `name` and where it works: its folder, its keys, and the socket of kpd's tools, if it has them."""

    name: str
    settings: AgentConfig
    folder: SessionFolder
    workspace: Workspace
    keys: dict[str, str]
    socket: Path | None = None


@asynccontextmanager
async def talking(
    at: AgentPlace, conversation: Conversation, answers: Asks, refused: Callable[[Endpoint], None], own: str = "",
    tools: Sequence[ToolServer] = (),
) -> AsyncIterator[tuple[Talk, bool]]:  # fmt: skip
    """Start the agent, with the network that it may have, and whether that is an open one. It ends with the block.

    Raises Unavailable.
    """
    settings, root = at.settings, at.folder.root
    try:
        alone = settings.confined and await asyncio.to_thread(can_isolate)
    except OSError as err:
        raise Unavailable(
            f"{at.name} is not started with an open network: {err}", "try again when this machine is less busy"
        ) from err
    if settings.confined and not alone and names_hosts(at.name, settings):
        raise Unavailable(OPEN, f'hosts = ["*"] in [agents.{at.name}] lets it reach everything; kpd doctor')
    reach = reach_of(settings.hosts, {**settings.env, **at.keys}) if alone else None
    network = AgentNetwork(reach, refused) if reach is not None else None
    order = program.order(settings, at.folder, at.workspace, at.keys, at.socket, reach)
    talk: Talk
    try:
        if settings.command:
            from kpd.sessions.acp_talk import AcpTalk

            how = (own, settings.mode, settings.model, tools, network, secrets(settings.keys))
            talk = await AcpTalk.start(order, root, conversation, answers, *how)
        else:
            talk = ExecTalk(order, root, root / "prompt.md", conversation, network)
        try:
            yield talk, reach is None
        finally:
            await talk.close()
    finally:
        if network is not None:
            await network.close()


@dataclass(slots=True)
class WorkingSession:
    """The session of the agent `name` in one iteration: its folder, its keys, its money, and how it is started."""

    name: str
    settings: AgentConfig
    context: Context

    @property
    def folder(self) -> SessionFolder:
        return SessionFolder(self.context.home / "session")

    @property
    def keys(self) -> dict[str, str]:
        return {name: value for name in self.settings.keys if (value := keys().get(name))}

    @property
    def cleaner(self) -> TextCleaner:
        return TextCleaner.of(self.keys)

    @property
    def at(self) -> tuple[str, int]:
        return self.context.run.id, self.context.number

    def record(self, fact: e.Fact) -> None:
        self.context.record(fact)

    def left_usd(self, before: Past) -> float:
        """Return what is left of the session's dollars; of a turn that nobody saw the end of, what the agent said."""
        return self.settings.usd - max(before.usd, told_usd(self.folder.log))

    def most_usd(self, before: Past) -> float:
        """Return the dollars that the next turn may cost: what is left of the session's, and of the run's."""
        run = self.context.latest()
        of_run = run.budget.usd - run.spend.usd if run.budget.usd else self.settings.usd
        return min(self.left_usd(before), max(of_run, 1e-9))  # the ledger refuses where the run has nothing left

    @asynccontextmanager
    async def talking(
        self, conversation: Conversation, before: Past, own: str, socket: Path, asking: Asking,
        tools: Sequence[ToolServer] = (),
    ) -> AsyncIterator[Talk]:  # fmt: skip
        """Start the agent, with the network that it may have; record what it says of itself. It ends with the block.

        Raises Unavailable.
        """
        session = before.session

        def refused(to: Endpoint) -> None:
            self.record(e.HostRefused(*self.at, session, self.cleaner.text(str(to))))
            conversation.note(KPD, f"{to} is not among its hosts")

        at = AgentPlace(self.name, self.settings, self.folder, self.context.workspace, self.keys, socket)
        try:
            async with talking(at, conversation, asking.answer, refused, own, tools) as (talk, is_open):
                self.record(e.SessionKnown(*self.at, session, talk.own, talk.agent, talk.loads, is_open))
                yield talk
        finally:
            asking.close()

    def cutting(self, talk: Talk) -> "asyncio.Task[None]":
        """Start a task that ends the agent's turn as soon as an operator has cut it."""

        def is_cut(run: Run) -> bool:
            found = run.iteration(self.context.number)
            return found is not None and found.session is not None and found.session.cutting

        async def cut() -> None:
            await self.context.until(is_cut)
            talk.cut()

        return asyncio.create_task(cut(), name="cutting a turn")


def last_word(log: Path) -> float:
    """Return when the log of a session last changed; 0 where there is none."""
    try:
        return log.stat().st_mtime
    except OSError:
        return 0.0
