"""Questions for the scripted model service, and a listener that keeps what it is told."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

from kpd.claude.errors import OverBudget
from kpd.claude.pace import Pace
from kpd.claude.question import Answer, Hooks, Part, Question
from kpd.claude.service import Service
from kpd.model.nouns import Purpose, Usage
from kpd.workspace.config import ClaudeConfig
from tests.anthropic_server import KEY, Script, Server, serving

FAST = Pace(first_s=0.001, most_s=0.005, most_asked_s=0.005, connect_s=5.0)
SONNET = "claude-sonnet-5-5"
QUESTION = Question((Part("Answer in few words."),), "What is it?", "propose", SONNET, 1000, "medium")


@dataclass
class Bill:
    purpose: Purpose
    model: str
    usage: Usage
    usd: float | None
    cut: bool


@dataclass
class Listener:
    """Hooks and ledger in one. `limit` in USD: what has been billed and what is estimated must stay below."""

    limit: float = 1e9
    said: list[str] = field(default_factory=list)
    waited: list[str] = field(default_factory=list)
    bills: list[Bill] = field(default_factory=list)
    estimates: list[float | None] = field(default_factory=list)
    _told: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def hooks(self) -> Hooks:
        return Hooks(self._say, self._waits, self)

    async def until(self, count: int, told: list[str]) -> None:
        """Until so much has been said or waited for: `told` is one of this listener's lists."""
        while len(told) < count:
            self._told.clear()
            await self._told.wait()

    def _say(self, text: str) -> None:
        self.said.append(text)
        self._told.set()

    def _waits(self, reason: str) -> None:
        self.waited.append(reason)
        self._told.set()

    @property
    def text(self) -> str:
        return "".join(self.said)

    def allow(self, usd: float | None) -> None:
        self.estimates.append(usd)
        if sum(bill.usd or 0 for bill in self.bills) + (usd or 0) > self.limit:
            raise OverBudget("the run may spend no more", "run")

    def billed(self, purpose: Purpose, model: str, usage: Usage, usd: float | None, cut: bool) -> None:
        self.bills.append(Bill(purpose, model, usage, usd, cut))


def service_at(url: str, pace: Pace = FAST, key: str = KEY, **config: Any) -> Service:
    return Service(replace(ClaudeConfig(), base_url=url, **config), {"ANTHROPIC_API_KEY": key}, pace)


@contextlib.asynccontextmanager
async def talking(script: Script, pace: Pace = FAST, **config: Any) -> AsyncIterator[tuple[Server, Service]]:
    """A scripted server and a service that talks to it."""
    async with serving(script) as server:
        service = service_at(server.url, pace, **config)
        try:
            yield server, service
        finally:
            await service.close()


async def answered(script: Script, listener: Listener, question: Question = QUESTION) -> tuple[Answer, Server]:
    async with talking(script) as (server, service):
        return await service.ask(question, listener.hooks), server
