"""Collects live output of builds, jobs and agents, in whole lines and bounded."""

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from kpd.model.session import AGENT, KPD, OPERATOR, THOUGHT
from kpd.subscription import Live
from kpd.text.numbers import counted
from tui.format.text import LONGEST_LINE, clean

MOST_LINES = 5_000
MOST_CHARACTERS = 2_000_000
"""The most lines that are kept, however long the screen stays open."""
PROSE = (AGENT, THOUGHT, KPD, OPERATOR)
"""The channels on which sentences come."""


class OutputLine(NamedTuple):
    """A line of output; `after` is the number of the last event before it, which gives its place in time.

    `number` counts the lines received; 0 is a line that is still being written.
    """

    run: str
    iteration: int
    after: int
    channel: str
    text: str
    number: int = 0


@dataclass(slots=True)
class _Open:
    """A line that has no end yet; `lost` counts its characters past those that are kept."""

    after: int
    text: str = ""
    lost: int = 0

    def grow(self, text: str) -> None:
        whole = self.text + text
        self.text = whole[:LONGEST_LINE]
        self.lost += len(whole) - len(self.text)

    @property
    def shown(self) -> str:
        return shortened(self.text, self.lost)


def shortened(text: str, lost: int = 0) -> str:
    """Return a line made safe and cut, with a note on how many characters are missing."""
    lost += max(0, len(text) - LONGEST_LINE)
    return clean(text) + (f" … {counted(lost, 'more character')}" if lost else "")


class Output:
    """The last lines of all channels. A line that is still being written is shown as far as it goes."""

    def __init__(self, most: int = MOST_LINES, characters: int = MOST_CHARACTERS) -> None:
        self._lines: deque[OutputLine] = deque()
        self._open: dict[tuple[str, str, int], _Open] = {}
        self._half: set[tuple[str, str, int]] = set()
        self._whole: tuple[OutputLine, ...] | None = ()
        self._most, self._most_characters = most, characters
        self._characters = self._count = 0

    def hear(self, live: Live, after: int) -> None:
        """Add a piece of output; it may begin and end anywhere in a line."""
        channel = clean(live.channel)[:12]
        key = (channel, live.run, live.iteration)
        # A CR at the end may be the first half of CR LF: the next piece decides.
        text = ("\r" if key in self._half else "") + live.text
        self._half.discard(key)
        if text.endswith("\r"):
            self._half.add(key)
            text = text[:-1]
        now = self._open.pop(key, None) or _Open(after)
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        first, *more = text.split("\n")
        now.grow(first)
        if more:
            self._keep(live.run, live.iteration, now.after, channel, now.shown)
            for piece in more[:-1]:
                self._keep(live.run, live.iteration, after, channel, shortened(piece))
            now = _Open(after)
            now.grow(more[-1])
        if now.text or key in self._half:
            self._open[key] = now
        self._whole = None

    def lose(self, count: int, after: int) -> None:
        """Note that `count` pieces were left out because this terminal was too slow."""
        self._keep("", 0, after, "kpd", f"{counted(count, 'piece')} of output left out: too fast to show")
        self._whole = None

    def lines(self) -> tuple[OutputLine, ...]:
        if self._whole is None:
            rest = (OutputLine(run, it, now.after, ch, now.shown) for (ch, run, it), now in self._open.items())
            self._whole = (*self._lines, *rest)
        return self._whole

    def _keep(self, run: str, iteration: int, after: int, channel: str, text: str) -> None:
        self._count += 1
        self._characters += len(text)
        self._lines.append(OutputLine(run, iteration, after, channel, text, self._count))
        while len(self._lines) > self._most or self._characters > self._most_characters:
            self._characters -= len(self._lines.popleft().text)
