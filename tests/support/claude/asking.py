"""Questions for the scripted model service, and a listener that keeps what it is told."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

from kpd.claude.backoff import Backoff
from kpd.claude.errors import OverBudget
from kpd.claude.question import Hooks, ModelAnswer, ModelQuestion, PromptPart
from kpd.claude.service import Service
from kpd.model.exhaustion import Overspent
from kpd.model.spending import Purpose, Usage
from kpd.model.waits import Wait
from kpd.text import waits
from kpd.workspace.config import ClaudeConfig
from tests.support.claude.anthropic_script import Script
from tests.support.claude.anthropic_server import KEY, Server, serving

FAST = Backoff(first_s=0.001, most_s=0.005, most_asked_s=0.005, connect_s=5.0)
SONNET = "claude-sonnet-5-5"
QUESTION = ModelQuestion((PromptPart("Answer in few words."),), "What is it?", "propose", SONNET, 1000, "medium")


@dataclass
class Bill:
    purpose: Purpose
    model: str
    usage: Usage
    usd: float | None
    cut: bool


@dataclass
class Listener:
    """Hooks and ledger in one. `limit` in USD: what has been billed and what is estimated must stay below.

    Of each call that was begun, by its number from 1 on, `settled` has how it ended.
    """

    limit: float = 1e9
    calls: list[tuple[Purpose, str, float | None]] = field(default_factory=list)
    settled: dict[int, Bill] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    waited: list[str] = field(default_factory=list)
    readiness: asyncio.Event | None = None
    held: asyncio.Event = field(default_factory=asyncio.Event)
    _told: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def hooks(self) -> Hooks:
        return Hooks(self._say, self._waits, self, self._ready)

    @property
    def bills(self) -> list[Bill]:
        """Of calls that cost something, in the order in which they were made."""
        return [self.settled[number] for number in sorted(self.settled) if self.settled[number].usage.total]

    @property
    def estimates(self) -> list[float | None]:
        return [most_usd for _, _, most_usd in self.calls]

    async def until(self, count: int, told: list[str]) -> None:
        """Until so much has been said or waited for: `told` is one of this listener's lists."""
        while len(told) < count:
            self._told.clear()
            await self._told.wait()

    def _say(self, text: str) -> None:
        self.said.append(text)
        self._told.set()

    def _waits(self, for_what: Wait | None) -> None:
        self.waited.append(waits.wait(for_what))
        self._told.set()

    @property
    def text(self) -> str:
        return "".join(self.said)

    async def _ready(self) -> None:
        """At once, unless the test holds it up with `readiness`; `held` is set when it does."""
        assert len(self.settled) == len(self.calls), "each call is settled before the next is thought of"
        if self.readiness is not None:
            self.held.set()
            await self.readiness.wait()

    def begin(self, purpose: Purpose, model: str, most_usd: float | None) -> int:
        if sum(bill.usd or 0 for bill in self.bills) + (most_usd or 0) > self.limit:
            raise OverBudget(Overspent("run", self.limit, 0.0, most_usd or 0.0))
        self.calls.append((purpose, model, most_usd))
        return len(self.calls)

    def billed(self, call: int, usage: Usage, usd: float | None, cut: bool) -> None:
        purpose, model, most_usd = self.calls[call - 1]
        assert call not in self.settled
        assert usd is None or most_usd is None or usd <= most_usd
        self.settled[call] = Bill(purpose, model, usage, usd, cut)


def service_at(url: str, pace: Backoff = FAST, key: str = KEY, **config: Any) -> Service:
    return Service(replace(ClaudeConfig(), base_url=url, **config), {"ANTHROPIC_API_KEY": key}, pace)


@contextlib.asynccontextmanager
async def talking(script: Script, pace: Backoff = FAST, **config: Any) -> AsyncIterator[tuple[Server, Service]]:
    """A scripted server and a service that talks to it."""
    async with serving(script) as server:
        service = service_at(server.url, pace, **config)
        try:
            yield server, service
        finally:
            await service.close()


async def answered(
    script: Script, listener: Listener, question: ModelQuestion = QUESTION
) -> tuple[ModelAnswer, Server]:
    async with talking(script) as (server, service):
        return await service.ask(question, listener.hooks), server
