"""Live output for a thin line: the last line of each stream every few seconds, in place of all that it says."""

import asyncio
import re

from kpd.daemon.outbox import Outbox
from kpd.messages import Live, push_line
from kpd.wire import BRIEF_S

LONGEST = 160  # characters of a line
MOST_STREAMS = 16  # that are kept between two sendings

Stream = tuple[str, str, int]


class Brief:
    """One client's: what it hears it sends on every BRIEF_S, cut short. What is left out was not asked for."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._lasts: dict[Stream, str] = {}
        self._due: asyncio.TimerHandle | None = None

    def hear(self, live: Live) -> None:
        stream = (live.channel, live.run, live.iteration)
        if stream in self._lasts or len(self._lasts) < MOST_STREAMS:
            self._lasts[stream] = last_line(self._lasts.get(stream, "") + live.text)
        if self._due is None:
            self._due = asyncio.get_running_loop().call_later(BRIEF_S, self._send)

    def end(self) -> None:
        if self._due is not None:
            self._due.cancel()

    def _send(self) -> None:
        self._due = None
        lasts, self._lasts = self._lasts, {}
        for (channel, run, iteration), text in lasts.items():
            if said := text.rstrip():
                self._outbox.put_live(push_line(Live(channel, run, iteration, f"{said}\n")))


def last_line(text: str) -> str:
    """The last line that says anything, or the end of one that is long; a blank behind it stays, as one character."""
    said = text.rstrip()
    line = re.split(r"[\r\n]", said)[-1] if said else ""
    if len(line) > LONGEST:
        line = f"…{line[1 - LONGEST :]}"
    rest = text[len(said) :]
    return line + ("\n" if "\n" in rest or "\r" in rest else " " if rest else "")
