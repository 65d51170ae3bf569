"""Represents a prompt as named blocks, with their sizes in tokens.

A prompt that does not fit is shortened by rule, one step at a time: what matters least goes first.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kpd.claude.question import MOST_BREAKPOINTS, PromptPart
from kpd.claude.tokens import tokens

_BETWEEN = "\n\n"


@dataclass(frozen=True, slots=True)
class PromptBlock:
    """A piece of a prompt. `short` is the text that replaces it when the prompt has to become shorter.

    None: it is never shortened; empty: the block goes as a whole.
    """

    name: str
    text: str
    short: str | None = None

    @property
    def tokens(self) -> int:
        """The estimated number of tokens of the text."""
        return tokens(self.text)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt: `stretches` make up the system prompt, which the service caches up to the end of each of them.

    The first stretch is the same for every question of a run; a later one changes more often than the one before it.
    `user` is new in every question and is not cached.
    """

    stretches: tuple[tuple[PromptBlock, ...], ...]
    user: tuple[PromptBlock, ...]

    def __post_init__(self) -> None:
        assert len(self.stretches) <= MOST_BREAKPOINTS
        assert all(self.stretches), "a cache breakpoint stands after a block"

    @property
    def system(self) -> tuple[PromptBlock, ...]:
        return tuple(block for stretch in self.stretches for block in stretch)

    @property
    def blocks(self) -> tuple[PromptBlock, ...]:
        return (*self.system, *self.user)

    @property
    def tokens(self) -> int:
        return sum(block.tokens for block in self.blocks)

    def parts(self) -> tuple[PromptPart, ...]:
        """Return the system prompt as the service takes it.

        Each block is a part of its own: where a stretch grows by blocks at its end, the parts before them stay the
        same, and so does what the service has cached of them.
        """
        return tuple(self._parts())

    def _parts(self) -> Iterator[PromptPart]:
        for stretch in self.stretches:
            for at, block in enumerate(stretch, 1):
                yield PromptPart(block.text + _BETWEEN, cached=at == len(stretch))

    def said(self) -> str:
        """Return the user's turn."""
        return _BETWEEN.join(block.text for block in self.user)

    def markdown(self) -> str:
        """Return the whole prompt as one text, for people to read or to paste into any model's window."""
        return _BETWEEN.join(block.text for block in self.blocks) + "\n"


ORDER = ("advice", "run", "memory", "patterns", "hints", "changes", "skill", "catalogue", "counters", "log")
"""The kinds of blocks, in the order in which they become short. Of several skills the last goes first, of the run's
iterations the oldest.

Neither the source nor the task, the operator's words, the findings or the reason of a failure are among them.
"""


def shorter(prompt: Prompt) -> Prompt | None:
    """Shorten the prompt by one step; return None when everything that is left is needed."""
    for kind in ORDER:
        found = [block for block in prompt.blocks if kind_of(block) == kind and can_shrink(block)]
        if found:
            return _without(prompt, found[0 if kind == "run" else -1])
    return None


def kind_of(block: PromptBlock) -> str:
    """Return the kind of a block, the part of its name before the colon: `skill:stall_wait` is a `skill`."""
    return block.name.partition(":")[0]


def can_shrink(block: PromptBlock) -> bool:
    return block.short is not None and len(block.short) < len(block.text)


def _without(prompt: Prompt, chosen: PromptBlock) -> Prompt:
    assert chosen.short is not None
    instead = replace(chosen, text=chosen.short, short=None) if chosen.short else None

    def swapped(blocks: tuple[PromptBlock, ...]) -> tuple[PromptBlock, ...]:
        kept = (instead if block is chosen else block for block in blocks)
        return tuple(block for block in kept if block is not None)

    stretches = tuple(kept for stretch in prompt.stretches if (kept := swapped(stretch)))
    return Prompt(stretches, swapped(prompt.user))
