"""Answers what an agent asks for: by rule, or by an operator who has some time for it."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace

from kpd.agents.agent import Context
from kpd.model import events as e
from kpd.model.run import Run
from kpd.model.session import Question
from kpd.model.waits import ForPermission
from kpd.sessions.permissions import AgentWish, Answer, Place, decide


def open_questions(run: Run, number: int) -> tuple[Question, ...]:
    """Return what the agent of an iteration waits for."""
    found = run.iteration(number)
    return found.session.asks if found is not None and found.session is not None else ()


MOST_OPEN = 8
"""Questions of a turn that wait for an operator: each is shown and told of once it is the oldest."""


@dataclass(slots=True)
class Asking:
    """Answers the wishes of one turn, and records both. `requests` counts those of the session.

    An operator has `limit_s` seconds for a wish that no rule answers; with 0 it is refused at once, and so is one while
    `MOST_OPEN` others wait.
    """

    context: Context
    session: str
    place: Place
    limit_s: float
    requests: int

    async def answer(self, wish: AgentWish) -> Answer:
        self.requests += 1
        number, kept, answer = self.requests, wish.short, decide(wish, self.place)
        asked = e.PermissionAsked(
            *self._at, self.session, number, kept.tool, kept.command or kept.what, kept.paths
        )  # fmt: skip
        room = len(open_questions(self.context.latest(), self.context.number)) < MOST_OPEN
        if answer.open and self.limit_s and room:
            self._record(replace(asked, what=wish.whole, limit_s=self.limit_s, why=answer.why))
            answer = await self._of_operator(number)
        else:
            self._record(asked)
            self._answered(number, answer)
        return answer

    def close(self) -> None:
        """Refuse what still waits for an operator: the turn is over."""
        for question in open_questions(self.context.latest(), self.context.number):
            self._answered(question.request, Answer(False, "the turn was over before anybody answered"))
        self._show()

    async def _of_operator(self, number: int) -> Answer:
        """Wait until an operator has answered, or the time is over."""

        def is_answered(run: Run) -> bool:
            return number not in [question.request for question in open_questions(run, self.context.number)]

        self._show()
        with suppress(TimeoutError):
            async with asyncio.timeout(self.limit_s):
                await self.context.until(is_answered)
        if not is_answered(self.context.latest()):
            self._answered(number, Answer(False, f"nobody has answered within {self.limit_s:g} s"))
        self._show()
        facts = [event.fact for event in self.context.events()]
        found = [one for one in facts if isinstance(one, e.PermissionAnswered) and one.request == number][-1]
        return Answer(found.allowed, found.why)

    def _show(self) -> None:
        """Have the run say for which answer it waits: the oldest."""
        asks = open_questions(self.context.latest(), self.context.number)
        oldest = [ForPermission(*self._at, one.tool, one.about, one.why, one.request) for one in asks[:1]]
        self.context.waits(oldest[0] if oldest else None)

    def _answered(self, number: int, answer: Answer) -> None:
        self._record(
            e.PermissionAnswered(*self._at, self.session, number, answer.allowed, answer.why, judge=answer.judge)
        )

    def _record(self, fact: e.IterationFact) -> None:
        self.context.record(fact)

    @property
    def _at(self) -> tuple[str, int]:
        return self.context.run.id, self.context.number
