"""Live output: what builds, jobs and agents print, in whole lines and bounded."""

from collections import deque
from dataclasses import dataclass

from kpd.subscription import Live
from tui.text import LONGEST, clean

MOST_LINES = 5_000
AGENT = "agent"
"""The channel on which a model's words come."""


@dataclass(frozen=True, slots=True)
class OutputLine:
    """A line as it came; `after` is the number of the last event before it, which tells its place in time."""

    run: str
    iteration: int
    after: int
    channel: str
    text: str


class Output:
    """The last lines of all channels. A line that is still being written is shown as far as it goes."""

    def __init__(self, most: int = MOST_LINES) -> None:
        self._lines: deque[OutputLine] = deque(maxlen=most)
        self._open: dict[tuple[str, str, int], tuple[int, str]] = {}
        self._whole: tuple[OutputLine, ...] | None = ()

    def hear(self, live: Live, after: int) -> None:
        """Take a piece of output, however it is cut."""
        channel = clean(live.channel)[:12]
        key = (channel, live.run, live.iteration)
        begun, text = self._open.pop(key, (after, ""))
        text = (text + live.text).replace("\r\n", "\n")
        # A return at the end may be the first half of a line's end: what it is shows with the next piece.
        half = "\r" if text.endswith("\r") else ""
        *whole, rest = text.removesuffix(half).replace("\r", "\n").split("\n")
        for piece in whole:
            self._lines.append(OutputLine(live.run, live.iteration, begun, channel, clean(piece)))
            begun = after
        if rest or half:
            self._open[key] = (begun, rest[:LONGEST] + half)
        self._whole = None

    def lose(self, count: int, after: int) -> None:
        """So many pieces were left out because this terminal was too slow."""
        self._lines.append(OutputLine("", 0, after, "kpd", f"{count:,} pieces of output left out: too fast to show"))
        self._whole = None

    def lines(self) -> tuple[OutputLine, ...]:
        if self._whole is None:
            rest = (OutputLine(run, it, begun, ch, clean(text)) for (ch, run, it), (begun, text) in self._open.items())
            self._whole = (*self._lines, *rest)
        return self._whole
