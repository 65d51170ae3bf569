"""A prompt as named blocks: what the service is sent, and what it weighs."""

from collections.abc import Iterator
from dataclasses import dataclass

from kpd.claude.question import MOST_BREAKPOINTS, PromptPart
from kpd.claude.tokens import tokens

_BETWEEN = "\n\n"


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a prompt. `short` is what stays of its text when the prompt has to become shorter.

    None: it never does; empty: the block goes as a whole.
    """

    name: str
    text: str
    short: str | None = None

    @property
    def tokens(self) -> int:
        """About how many tokens the text has."""
        return tokens(self.text)


@dataclass(frozen=True, slots=True)
class Prompt:
    """`stretches` make up the system prompt; the service caches it up to the end of each of them.

    The first is the same for every question of a run, a later one changes more often than the one before it. `user` is
    new in every question, and is not cached.
    """

    stretches: tuple[tuple[Block, ...], ...]
    user: tuple[Block, ...]

    def __post_init__(self) -> None:
        assert len(self.stretches) <= MOST_BREAKPOINTS
        assert all(self.stretches), "a cache breakpoint stands after a block"

    @property
    def system(self) -> tuple[Block, ...]:
        return tuple(block for stretch in self.stretches for block in stretch)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (*self.system, *self.user)

    @property
    def tokens(self) -> int:
        return sum(block.tokens for block in self.blocks)

    def parts(self) -> tuple[PromptPart, ...]:
        """The system prompt as the service takes it.

        Each block is a part of its own: where a stretch grows by blocks at its end, the parts before them are as they
        were, and so is what the service has cached of them.
        """
        return tuple(self._parts())

    def _parts(self) -> Iterator[PromptPart]:
        for stretch in self.stretches:
            for at, block in enumerate(stretch, 1):
                yield PromptPart(block.text + _BETWEEN, cached=at == len(stretch))

    def said(self) -> str:
        """The user's turn."""
        return _BETWEEN.join(block.text for block in self.user)

    def markdown(self) -> str:
        """All of it as one text: for people to read, or to put into any model's window."""
        return _BETWEEN.join(block.text for block in self.blocks) + "\n"
