"""Carries one question to its answer: retries failed attempts, joins parts, and settles the bill of every call."""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from kpd.claude.backoff import Backoff, WaitNotices
from kpd.claude.call import ModelCall
from kpd.claude.continuation import join
from kpd.claude.errors import Unavailable
from kpd.claude.failures import PromptTooLong, Transient, Trouble
from kpd.claude.prices import Price, cost, known
from kpd.claude.question import Hooks, ModelAnswer, ModelQuestion, Stop
from kpd.claude.stream import MalformedEvent, StreamedReply
from kpd.model.spending import Usage
from kpd.model.waits import ForService

MOST_PIECES = 5
"""The most pieces of an answer; a longer one is not continued."""
MOST_BREAKS = 3
"""After so many answers in a row that broke off, each of them paid for, a person is asked: retrying does not help."""
BROKEN_OFF = "\n[the answer broke off; asked again]\n"
GOES_ON = "\n[the answer goes on]\n"

Listen = Callable[[ModelCall], AsyncGenerator[object, None]]
"""Makes one call; yields the events of its reply as plain data. Raises CallFailed."""


class CallFailed(Exception):
    """A call without an answer, or with one that broke off. `trouble` says what that means.

    `worked`: the service may have worked on it, and may charge for it, even if nothing came.
    """

    def __init__(self, trouble: Trouble, worked: bool) -> None:
        super().__init__(str(trouble))
        self.trouble = trouble
        self.worked = worked


class ModelRequest:
    """One question on its way to its answer. Used once."""

    def __init__(
        self, question: ModelQuestion, hooks: Hooks, price: Price | None, listen: Listen, pace: Backoff
    ) -> None:
        self._question = question
        self._hooks = hooks
        self._price = price
        self._listen = listen
        self._pace = pace
        self._silence = WaitNotices(hooks.waits, pace.quiet_s)
        self._breaks = 0
        self._lost_s = 0.0

    async def answer(self) -> ModelAnswer:
        """Return the joined answer. Raises Unavailable and the ledger's errors; all else is retried until cancelled."""
        try:
            return await self._joined()
        finally:
            self._silence.end()

    async def _joined(self) -> ModelAnswer:
        written, room = "", self._room(self._question.max_tokens)
        for piece in range(MOST_PIECES):
            if piece:
                self._hooks.say(GOES_ON)
            heard = await self._whole(ModelCall(self._question, room, written))
            if isinstance(heard, PromptTooLong):
                return ModelAnswer(written, "context", heard.excess)
            written = join(written, heard.text) if written else heard.text
            if heard.cut_short:
                break
            if heard.stop not in ("max_tokens", "pause_turn"):
                return ModelAnswer(written, _stop(heard.stop))
            if not heard.text.strip():  # all tokens went into thinking, and would again
                less, room = room, self._room(2 * room)
                if room == less:
                    break
            written = written if written.strip() else ""
        return ModelAnswer(written, "length")

    async def _whole(self, call: ModelCall) -> StreamedReply | PromptTooLong:
        """Return one whole reply, retried after temporary failures; PromptTooLong where the prompt does not fit.

        Raises Unavailable when a person is needed, or when too many answers in a row broke off.
        """
        failures = 0
        while True:
            await self._hooks.ready()
            heard, since = StreamedReply(), time.monotonic()
            trouble = await self._attempt(call, heard)
            if trouble is None:
                return heard
            if isinstance(trouble, PromptTooLong):
                return trouble
            if isinstance(trouble, Unavailable):
                raise trouble
            if self._breaks >= MOST_BREAKS:
                raise Unavailable(
                    f"{MOST_BREAKS} answers in a row broke off, and each may have to be paid for: {trouble.reason}",
                    "see whether the network, a proxy or base_url breaks off long answers",
                )
            failures += 1
            if heard.text:
                self._hooks.say(BROKEN_OFF)
            await self._rest(trouble, failures, since)

    async def _attempt(self, call: ModelCall, heard: StreamedReply) -> Trouble | None:
        """Make the call once, and return what went wrong, None if nothing did.

        The trouble is returned and not raised: an exception raised while the library's own is handled would keep a
        reference to that, to its request, and so to the key.
        """
        number = self._hooks.ledger.begin(call.purpose, self._question.model, call.most_usd(self._price))
        worked = True
        self._silence.begin()
        try:
            async with aclosing(self._listen(call)) as events:
                await self._hear(events, heard)
        except CallFailed as err:
            worked = err.worked
            return err.trouble
        except MalformedEvent as err:
            return Transient(f"the model service sent something unreadable ({err})")
        finally:
            self._silence.pause()
            self._settle(number, call, heard, worked)
        whole = heard.ended or heard.cut_short
        return None if whole else Transient("the model service ended its answer in the middle")

    async def _hear(self, events: AsyncGenerator[object, None], heard: StreamedReply) -> None:
        async for event in events:
            self._silence.broken()
            if text := heard.take(event):
                self._hooks.say(text)
            if heard.cut_short:
                return

    def _settle(self, number: int, call: ModelCall, heard: StreamedReply, worked: bool) -> None:
        """Report the call's usage to the ledger, also for a call that broke off or was cancelled.

        The output of a call that broke off counts as far as it came. Thinking that the service did not show is not
        included and may make the true bill higher.
        """
        if not (heard.begun or worked):
            self._hooks.ledger.billed(number, Usage(), 0.0, cut=False)
            return
        usage = heard.usage(call.max_tokens) if heard.begun else call.prompt()
        self._breaks = 0 if heard.ended else self._breaks + 1
        usd = None if self._price is None else cost(usage, self._price)
        self._hooks.ledger.billed(number, usage, usd, cut=not heard.ended)

    async def _rest(self, trouble: Transient, failures: int, since: float) -> None:
        """Wait before the next attempt. `since` is when the failed attempt began, by the monotonic clock.

        Raises Unavailable when the question's limit on waiting is reached.
        """
        pause_s = self._pace.pause(failures, trouble.asked_s, random.random())
        self._lost_s += time.monotonic() - since + pause_s
        most_s = self._question.most_waits_s
        if most_s is not None and self._lost_s > most_s:
            raise Unavailable(f"no answer within a wait of {most_s:.0f} s: {trouble.reason}", "try again later")
        self._silence.tell(ForService(trouble.reason, pause_s))
        await asyncio.sleep(pause_s)

    def _room(self, wanted: int) -> int:
        model = known(self._question.model)
        return wanted if model is None or model.max_output is None else min(wanted, model.max_output)


def _stop(word: str) -> Stop:
    match word:
        case "refusal":
            return "refusal"
        case "model_context_window_exceeded":
            return "context"
    return "end"
