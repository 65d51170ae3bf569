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
"""No current model goes on with an unfinished turn of its own, so that the user has to ask for it."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """`written` is the answer so far; a call with some of it asks for what comes after."""

    question: ModelQuestion
    max_tokens: int
    written: str = ""

    @property
    def purpose(self) -> Purpose:
        return "continue" if self.written else self.question.purpose

    def body(self) -> dict[str, Any]:
        """Return the request's fields. Sampling parameters and thinking are left to the model: current ones refuse them."""
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
        """Return what the call costs if its prompt has many tokens and its answer is as long as it may be. None: no price."""
        if price is None:
            return None
        turns, system = self._most_tokens()
        kept = any(part.cached for part in self.question.system)
        prompt = Usage(input=turns, cache_write=system) if kept else Usage(input=turns + system)
        return cost(prompt + Usage(output=self.max_tokens), price)

    def prompt(self) -> Usage:
        """Return what the call probably used if nothing is known of it but that it was made: many tokens, and none cached."""
        return Usage(input=sum(self._most_tokens()))

    def _most_tokens(self) -> tuple[int, int]:
        """Of the conversation, and of the system prompt."""
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
        """Return the service takes no empty block, so that an empty part's breakpoint goes to the one before it."""
        blocks: list[dict[str, Any]] = []
        for part in self.question.system:
            if part.text.strip():
                blocks.append({"type": "text", "text": sendable(part.text)})
            if part.cached and blocks:
                blocks[-1]["cache_control"] = {"type": "ephemeral"}
        return blocks


def sendable(text: str) -> str:
    """Halves of surrogate pairs, which bytes that are not UTF-8 may have left in a text, cannot be sent."""
    return text.encode(errors="replace").decode()
