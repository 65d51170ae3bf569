"""A question until it has its answer: attempts that fail are made again, pieces are joined, every call is billed."""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from kpd.claude.call import Call
from kpd.claude.errors import Unavailable
from kpd.claude.joining import join
from kpd.claude.pace import Pace
from kpd.claude.prices import Price, cost, known
from kpd.claude.question import Answer, Hooks, Question, Stop
from kpd.claude.stream import Garbled, Heard
from kpd.claude.trouble import Passing, TooLong, Trouble
from kpd.model.nouns import Usage

MOST_PIECES = 5
"""An answer in more pieces than this is given up."""
BROKEN_OFF = "\n[the answer broke off; asked again]\n"
GOES_ON = "\n[the answer goes on]\n"

Listen = Callable[[Call], AsyncGenerator[object, None]]
"""Makes one call; yields the events of its reply as plain data. Raises Broken."""


class Broken(Exception):
    """A call came to nothing, or broke off. `trouble` says what that means."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(str(trouble))
        self.trouble = trouble


class Asking:
    """One question on its way. Made for one use."""

    def __init__(self, question: Question, hooks: Hooks, price: Price | None, listen: Listen, pace: Pace) -> None:
        self._question = question
        self._hooks = hooks
        self._price = price
        self._listen = listen
        self._pace = pace
        self._silence = Silence(hooks.waits, pace.quiet_s)
        self._usage = Usage()
        self._calls = 0

    async def answer(self) -> Answer:
        """The joined answer. Raises Unavailable, and what the ledger raises; nothing else ends it but its own task."""
        try:
            return await self._joined()
        finally:
            self._silence.end()

    async def _joined(self) -> Answer:
        written, room = "", self._room(self._question.max_tokens)
        for piece in range(MOST_PIECES):
            if piece:
                self._hooks.say(GOES_ON)
            heard = await self._whole(Call(self._question, room, written))
            if heard is None:
                return self._answer(written, "context")
            written = join(written, heard.text) if written else heard.text
            if heard.cut_short:
                break
            if heard.stop not in ("max_tokens", "pause_turn"):
                return self._answer(written, _stop(heard.stop))
            if not heard.text.strip():  # all of it went into thinking, and would again
                room = self._room(2 * room)
            written = written if written.strip() else ""
        return self._answer(written, "length")

    async def _whole(self, call: Call) -> Heard | None:
        """One reply to its end, however often it has to be asked for; None if its prompt is too long."""
        failures = 0
        while True:
            heard = Heard()
            trouble = await self._attempt(call, heard)
            if trouble is None:
                return heard
            if isinstance(trouble, TooLong):
                return None
            if isinstance(trouble, Unavailable):
                raise trouble
            failures += 1
            if heard.text:
                self._hooks.say(BROKEN_OFF)
            await self._rest(trouble, failures)

    async def _attempt(self, call: Call, heard: Heard) -> Trouble | None:
        """Trouble is returned: an exception raised while the library's own is handled would keep that, its request, and
        so the key."""
        self._hooks.ledger.allow(call.most_usd(self._price))
        self._silence.begin()
        try:
            async with aclosing(self._listen(call)) as events:
                await self._hear(events, heard)
        except Broken as err:
            return err.trouble
        except Garbled as err:
            return Passing(f"the model service sends what cannot be read ({err})")
        finally:
            self._silence.pause()
            if heard.begun:
                self._bill(call, heard)
        whole = heard.ended or heard.cut_short
        return None if whole else Passing("the model service ended its answer in the middle")

    async def _hear(self, events: AsyncGenerator[object, None], heard: Heard) -> None:
        async for event in events:
            self._silence.broken()
            if text := heard.take(event):
                self._hooks.say(text)
            if heard.cut_short:
                return

    def _bill(self, call: Call, heard: Heard) -> None:
        """Also of what broke off, and of what nobody waits for any more."""
        self._calls += 1
        self._usage += heard.usage
        usd = None if self._price is None else cost(heard.usage, self._price)
        self._hooks.ledger.billed(call.purpose, self._question.model, heard.usage, usd, cut=not heard.ended)

    async def _rest(self, trouble: Passing, failures: int) -> None:
        pause_s = self._pace.pause(failures, trouble.asked_s, random.random())
        self._silence.tell(f"{trouble.reason}; asked again in {pause_s:.0f} s")
        await asyncio.sleep(pause_s)

    def _room(self, wanted: int) -> int:
        model = known(self._question.model)
        return wanted if model is None or model.max_output is None else min(wanted, model.max_output)

    def _answer(self, text: str, stop: Stop) -> Answer:
        return Answer(text, stop, self._usage, self._calls)


class Silence:
    """Tells the operator what is waited for: trouble at once, and silence when it lasts; and when it is over."""

    def __init__(self, waits: Callable[[str], None], quiet_s: float) -> None:
        self._waits = waits
        self._quiet_s = quiet_s
        self._timer: asyncio.TimerHandle | None = None
        self._told = False

    def begin(self) -> None:
        """From now on something should come."""
        self.pause()
        reason = (
            f"the model service has sent nothing for {self._quiet_s:g} s: the model thinks, or the connection hangs"
        )
        self._timer = asyncio.get_running_loop().call_later(self._quiet_s, self.tell, reason)

    def broken(self) -> None:
        """Something came."""
        self._over()
        self.begin()

    def pause(self) -> None:
        """Nothing is expected for now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def tell(self, reason: str) -> None:
        self._told = True
        self._waits(reason)

    def end(self) -> None:
        self.pause()
        self._over()

    def _over(self) -> None:
        if self._told:
            self._told = False
            self._waits("")


def _stop(word: str) -> Stop:
    match word:
        case "refusal":
            return "refusal"
        case "model_context_window_exceeded":
            return "context"
    return "end"
