"""Claude as an agent: findings become the next kernel, in one fresh, self-contained conversation an iteration."""

import asyncio
import os
from contextlib import suppress

from kpd.agents.agent import BadReply, Context, Exhausted, Failure, Proposal
from kpd.agents.knowing import known, past
from kpd.agents.prompt.blocks import Prompt
from kpd.agents.prompt.compose import compose
from kpd.agents.prompt.record import artefacts
from kpd.agents.prompt.shorten import shorter
from kpd.agents.reading import proposal
from kpd.claude.errors import OverBudget, Unavailable
from kpd.claude.question import Answer, Hooks, Part, Question, Stop
from kpd.claude.service import Service
from kpd.knowledge import patterns
from kpd.knowledge.compact import compact
from kpd.model.nouns import Purpose
from kpd.workspace.config import ClaudeConfig

UNUSABLE: dict[Stop, str] = {
    "refusal": "the model declined to answer; stay with the kernel and say nothing else",
    "length": "the answer went on and on; give the files and the two lines, and nothing else",
}
SUMMARY_TOKENS = 4000


class Claude:
    """Asks the model service that the config names. Of earlier runs it knows what it knew at its first question.

    Every answer is kept: `reply.md`, then one file a repair. The prompt's weight is kept always, its text on request.
    """

    repairs = True

    def __init__(self, config: ClaudeConfig) -> None:
        self._config = config
        self._service = Service(config, os.environ)
        self._past: str | None = None

    async def propose(self, context: Context) -> Proposal:
        if self._past is None:
            self._past = await self._remembered(context)
        prompt = await asyncio.to_thread(compose, context, known(context, self._past))
        answer = await self._answer(context, prompt)
        if answer.stop in UNUSABLE:
            raise BadReply(UNUSABLE[answer.stop])
        return await asyncio.to_thread(proposal, answer.text, context)

    async def close(self) -> None:
        await self._service.close()

    async def _answer(self, context: Context, prompt: Prompt) -> Answer:
        """Asked with an ever shorter prompt while it does not fit the model. Raises Exhausted when nothing can go."""
        purpose, name = _purpose(context.failure), _name(context.failure)
        while True:
            for file, content in artefacts(context.home, prompt, purpose, self._config.keep_prompts).items():
                context.keep(file, content)
            question = Question(
                prompt.parts(), prompt.said(), purpose, self._config.model, self._config.max_tokens, self._config.effort
            )
            answer = await self._kept(context, question, name)
            if answer.stop != "context":
                return answer
            less = shorter(prompt)
            if less is None:
                raise Exhausted(f"the kernel and its task do not fit the context of {self._config.model}")
            prompt = less

    async def _kept(self, context: Context, question: Question, name: str) -> Answer:
        """The answer, which is kept under `name`; of one that is given up, what has come of it."""
        heard: list[str] = []

        def say(text: str) -> None:
            heard.append(text)
            context.say(text)

        try:
            answer = await self._service.ask(question, Hooks(say, context.waits, context.ledger))
        except BaseException:
            if heard:
                context.keep(name, "".join(heard))
            raise
        context.keep(name, answer.text)
        return answer

    async def _remembered(self, context: Context) -> str:
        """Earlier runs of the task: the older ones in brief, if the service can be had for it. Raises OSError."""

        async def summarise(text: str) -> str:
            system = (Part("You condense notes of engineers for those who come after them."),)
            question = Question(system, text, "compact", self._config.small_model, SUMMARY_TOKENS)
            answer = await self._service.ask(question, Hooks(lambda text: None, context.waits, context.ledger))
            return answer.text

        # The proposal itself will meet the same, and say it; without a summary the memory is as good as before.
        with suppress(Unavailable, OverBudget):
            await compact(context.workspace, context.task.name, summarise)
        await asyncio.to_thread(patterns.regenerate, context.workspace)
        return past(context)


def _purpose(failure: Failure | None) -> Purpose:
    if failure is None:
        return "propose"
    if failure.step == "propose":
        return "again"
    return "compile_fix" if failure.step == "build" else "runtime_fix"


def _name(failure: Failure | None) -> str:
    purpose = _purpose(failure)
    if failure is None:
        return "reply.md"
    return f"reply_again_{failure.number}.md" if purpose == "again" else f"response_{purpose}_{failure.number}.txt"
