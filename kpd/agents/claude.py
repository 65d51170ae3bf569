"""Asks Claude for candidates, in one new conversation per iteration."""

import asyncio

from kpd.agents.agent import AgentKind, BadReply, Context, Exhausted, Failure, Proposal
from kpd.agents.prompt.blocks import Prompt, shorter
from kpd.agents.prompt.compose import compose
from kpd.agents.prompt.record import artefacts
from kpd.agents.prompting import earlier_runs, gather_background, proposal_of
from kpd.claude.backoff import Backoff
from kpd.claude.errors import OverBudget, Unavailable
from kpd.claude.question import Hooks, ModelAnswer, ModelQuestion, PromptPart, Stop
from kpd.claude.service import Service
from kpd.knowledge import patterns
from kpd.knowledge.compact import compact
from kpd.model.spending import Purpose
from kpd.workspace.config import ClaudeConfig
from kpd.workspace.environment import keys

UNUSABLE: dict[Stop, str] = {
    "refusal": "the model declined to answer; stay with the kernel and say nothing else",
    "length": "the answer went on and on; give the files and the two lines, and nothing else",
}
SUMMARY_TOKENS = 4000
SUMMARY_WAITS_S = 60.0
"""A summary is useful, but a run does not wait long for it."""
MOST_OVERFLOWS = 2
"""How many answers may say that the prompt is too long. An answer that has begun has to be paid for."""
EXCESS, MARGIN = 0.20, 0.05
"""Parts of a prompt that go when the service does not say how much is too much, and beyond what it says: lengths of
blocks are estimates."""


class Claude:
    """The agent that asks the model service. It knows of earlier runs what it knew at its first question.

    Every answer is kept: `reply.md`, then one file per repair. The sizes of the prompt are always kept, its text on
    request.
    """

    repairs = True
    reads_steering = True

    def __init__(self, config: ClaudeConfig, pace: Backoff | None = None) -> None:
        self._config = config
        self._service = Service(config, keys(), pace)
        self._past: str | None = None

    async def propose(self, context: Context) -> Proposal:
        if self._past is None:
            self._past = await self._remembered(context)
        prompt = await asyncio.to_thread(_composed, context, self._past)
        answer = await self._answer(context, prompt)
        if answer.stop in UNUSABLE:
            raise BadReply(UNUSABLE[answer.stop])
        return await asyncio.to_thread(proposal_of, answer.text, context)

    async def close(self) -> None:
        await self._service.close()

    async def _answer(self, context: Context, prompt: Prompt) -> ModelAnswer:
        """Ask, with a shorter prompt if the first does not fit the model, and return the answer.

        Raises Exhausted when a shorter prompt does not help.
        """
        purpose, name = _purpose(context.failure), _name(context.failure)
        for _ in range(MOST_OVERFLOWS):
            for file, content in artefacts(context.home, prompt, purpose, self._config.keep_prompts).items():
                context.keep(file, content)
            question = ModelQuestion(
                prompt.parts(), prompt.said(), purpose, self._config.model, self._config.max_tokens, self._config.effort
            )
            answer = await self._kept(context, question, name)
            if answer.stop != "context":
                return answer
            less = _without(prompt, answer.excess + MARGIN if answer.excess else EXCESS)
            if less is None:
                break
            prompt = less
        raise Exhausted(f"the kernel and its task do not fit the context of {self._config.model}")

    async def _kept(self, context: Context, question: ModelQuestion, name: str) -> ModelAnswer:
        """Ask, and keep the answer under `name`: when the question fails, the part that has arrived."""
        heard: list[str] = []

        def say(text: str) -> None:
            heard.append(text)
            context.say(text)

        try:
            answer = await self._service.ask(question, Hooks(say, context.waits, context.ledger, context.ready))
        except BaseException:
            if heard:
                context.keep(name, "".join(heard))
            raise
        context.keep(name, answer.text)
        return answer

    async def _remembered(self, context: Context) -> str:
        """Return what earlier runs of the task found, the older ones summarised where a summary can be had.

        Raises OSError.
        """

        async def summarise(text: str) -> str:
            system = (PromptPart("You condense notes of engineers for those who come after them."),)
            question = ModelQuestion(
                system, text, "compact", self._config.small_model, SUMMARY_TOKENS, most_waits_s=SUMMARY_WAITS_S
            )
            hooks = Hooks(lambda text: None, context.waits, context.ledger, context.ready)
            return (await self._service.ask(question, hooks)).text

        try:
            await compact(context.workspace, context.task.name, summarise, context.say)
        except (Unavailable, OverBudget) as err:  # without a summary the memory is as good as before
            context.say(f"[the notes on earlier runs are not summarised: {err.message}]\n")
        return await asyncio.to_thread(_told, context)


def _told(context: Context) -> str:
    """Write the patterns anew and return the notes on earlier runs. Raises OSError."""
    patterns.regenerate(context.workspace)
    return earlier_runs(context)


def _composed(context: Context, earlier: str) -> Prompt:
    """Compose the prompt. Raises OSError."""
    return compose(context, gather_background(context, earlier))


def _without(prompt: Prompt, part: float) -> Prompt | None:
    """Return the prompt shortened by the share `part`, or as far as it can be; None if nothing can go."""
    most = prompt.tokens * (1 - part)
    less = shorter(prompt)
    while less is not None and less.tokens > most:
        further = shorter(less)
        if further is None:
            break
        less = further
    return less


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


AGENT = AgentKind(lambda config, of: Claude(config.claude), models=True)
