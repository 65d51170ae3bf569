"""Represents one request to the service as plain data: a question, and the part of the answer that has arrived."""

from dataclasses import dataclass
from typing import Any

from kpd.claude.continuation import ending
from kpd.claude.prices import Price, cost, known
from kpd.claude.question import ModelQuestion
from kpd.claude.tokens import most_tokens
from kpd.model.spending import Purpose, Usage

GO_ON = """\
Your answer has reached the length of one message and stopped before its end. Go on with it now: first repeat, exactly,
the last characters you have written, which are given below, and then continue straight after them. No introduction, no
apology, and no new code block around it.

<last_characters>
{end}
</last_characters>"""
"""No current model continues an unfinished turn of its own, so the user's turn has to ask for it."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One request: a question, and in `written` the answer so far. With an answer so far it asks for the rest."""

    question: ModelQuestion
    max_tokens: int
    written: str = ""

    @property
    def purpose(self) -> Purpose:
        return "continue" if self.written else self.question.purpose

    def body(self) -> dict[str, Any]:
        """Return the fields of the request.

        They set no sampling parameters and no thinking budget, because current models refuse them.
        """
        question = self.question
        fields: dict[str, Any] = {
            "model": question.model,
            "max_tokens": self.max_tokens,
            "messages": self._messages(),
            "stream": True,
        }
        if system := self._system():
            fields["system"] = system
        model = known(question.model)
        if question.effort and (model is None or model.effort):
            fields["output_config"] = {"effort": question.effort}
        return fields

    def most_usd(self, price: Price | None) -> float | None:
        """Return the most that the call can cost, in USD; None without a price.

        The number of tokens in the prompt is estimated rather too high, and the answer is taken to be as long as it may
        be.
        """
        if price is None:
            return None
        turns, system = self._most_tokens()
        kept = any(part.cached for part in self.question.system)
        prompt = Usage(input=turns, cache_write=system) if kept else Usage(input=turns + system)
        return cost(prompt + Usage(output=self.max_tokens), price)

    def prompt(self) -> Usage:
        """Estimate what a call used of which no usage is known: its whole prompt, nothing of it from the cache."""
        return Usage(input=sum(self._most_tokens()))

    def _most_tokens(self) -> tuple[int, int]:
        """Return the most tokens that the conversation is likely to have, and those of the system prompt."""
        turns = sum(most_tokens(turn["content"]) for turn in self._messages())
        return turns, sum(most_tokens(part.text) for part in self.question.system)

    def _messages(self) -> list[dict[str, str]]:
        asked = {"role": "user", "content": sendable(self.question.user)}
        if not self.written:
            return [asked]
        return [
            asked,
            {"role": "assistant", "content": sendable(self.written)},
            {"role": "user", "content": sendable(GO_ON.format(end=ending(self.written)))},
        ]

    def _system(self) -> list[dict[str, Any]]:
        """Return the system prompt as blocks.

        The service takes no empty block, so the cache breakpoint of an empty part goes to the block before it.
        """
        blocks: list[dict[str, Any]] = []
        for part in self.question.system:
            if part.text.strip():
                blocks.append({"type": "text", "text": sendable(part.text)})
            if part.cached and blocks:
                blocks[-1]["cache_control"] = {"type": "ephemeral"}
        return blocks


def sendable(text: str) -> str:
    """Replace lone surrogates, which bytes that are not UTF-8 may have left in a text: they cannot be sent."""
    return text.encode(errors="replace").decode()
