"""Turns what an agent sends into lines that people can read, and keeps its last words and what it has cost.

All of it was written by the agent: whatever has another form than the protocol's is passed over.
"""

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import time
from typing import Any

import msgspec

from kpd.model.session import AGENT, COST, EDIT, KPD, THOUGHT, TOOL, TOOL_DONE, TOOL_FAILED
from kpd.model.spending import Usage, dollars
from kpd.sessions.cleaning import CleanedStream, TextCleaner
from kpd.sessions.edited import edits
from kpd.sessions.skills_read import SkillReads

LONGEST_LINE = 400
MOST_SAID = 64 << 10
MOST_LOG = 16 << 20
"""Characters of a line on a tool, of the last words that are kept, and bytes of the log of one session."""
ENDS = {"completed": TOOL_DONE, "failed": TOOL_FAILED}
MOST_USD = 1e6
TELL_USD = 0.1
"""Dollars from which on it is said what a turn has cost so far."""
MOST_SHOWN = 3
MOST_CALLS = 500
"""Lines of a prompt that are shown live, and calls of tools whose titles are known."""


class Conversation:
    """What was said in a turn. `message` is the agent's text since it last used a tool; `usd` is what it says that the
    turn has cost, None where it says nothing. What is `replayed` was said, and has been paid for, in an earlier turn.
    `skills` are those that it has opened. `tell` shows text on a channel of `model.session`.
    """

    def __init__(self, tell: Callable[[str, str], None], log: Path, cleaner: TextCleaner | None = None) -> None:
        self.cleaner = cleaner or TextCleaner()
        self._tell = tell
        self._log = log
        self._room = MOST_LOG - (log.stat().st_size if log.exists() else 0)
        self._midline = False
        self._torn = True
        self._message = ""
        self._speaker = ""
        self._stream = CleanedStream(self.cleaner)
        self._titles: dict[object, str] = {}
        self.usd: float | None = None
        self._counter = self._told_usd = 0.0
        self.replayed = False
        self.skills = SkillReads()

    @property
    def message(self) -> str:
        return self._message + self.cleaner.text(self._stream.held if self._speaker == AGENT else "")

    def note(self, who: str, text: str) -> None:
        """Add a line of kpd's own, or what kpd or the operator tells the agent; its beginning is shown."""
        lines = [line for line in text.splitlines() if line.strip()]
        self._line(who, *lines[:MOST_SHOWN], *(["…"] if len(lines) > MOST_SHOWN else []))
        self._keep(who, text)

    def hear(self, params: Any) -> None:
        """Take in one `session/update`."""
        update = params.get("update") if isinstance(params, Mapping) else None
        if not isinstance(update, Mapping):
            return
        kind = update.get("sessionUpdate")
        if kind == "usage_update":
            self._cost(update.get("cost"))
        elif self.replayed:
            return
        elif kind in ("agent_message_chunk", "agent_thought_chunk"):
            self._spoken(AGENT if kind == "agent_message_chunk" else THOUGHT, _words(update.get("content")))
        elif kind in ("tool_call", "tool_call_update"):
            self._tool(kind == "tool_call", update)
            self.skills.hear(update)

    def hear_text(self, text: str) -> None:
        """Take in the output of a program that does not speak the protocol."""
        self._spoken(AGENT, text)

    def close(self) -> None:
        """Show what was held back of the last words."""
        self._show(self._stream.rest())
        if self._midline:
            self._tell(self._speaker, "\n")
            self._midline = False

    def _spoken(self, speaker: str, text: str) -> None:
        if speaker != self._speaker:
            self.close()
            self._speaker = speaker
        self._show(self._stream.feed(text))

    def _show(self, text: str) -> None:
        if not text:
            return
        if self._speaker == AGENT:
            self._message = (self._message + text)[-MOST_SAID:]
        self._tell(self._speaker, text)
        self._midline = not text.endswith("\n")
        self._keep(self._speaker, text)

    def _tool(self, begins: bool, update: Mapping[str, Any]) -> None:
        """Show that a tool is called, what it edits, and how it ended."""
        self.close()
        call, title, status = update.get("toolCallId"), update.get("title"), update.get("status")
        call = call if isinstance(call, str) else ""
        new = begins or call not in self._titles
        if isinstance(title, str) and title.strip():
            self._titles[call] = title.strip()[:LONGEST_LINE]
        what = self._titles.get(call) or str(update.get("kind") or "a tool")[:LONGEST_LINE]
        if new:
            self._message = ""
            self._said(TOOL, what)
        for change in edits(update.get("content")):
            self._said(EDIT, *change)
        if isinstance(status, str) and status in ENDS:
            self._message = ""
            self._said(ENDS[status], what)
        while len(self._titles) > MOST_CALLS:
            del self._titles[next(iter(self._titles))]

    def _said(self, channel: str, *lines: str) -> None:
        self._line(channel, *lines)
        self._keep(channel, "\n".join(line[:LONGEST_LINE] for line in lines))

    def _cost(self, cost: Any) -> None:
        amount = cost.get("amount") if isinstance(cost, Mapping) and cost.get("currency") == "USD" else None
        if not isinstance(amount, int | float) or not 0 <= amount < MOST_USD:
            return
        if not self.replayed:
            grown = amount - self._counter if amount >= self._counter else amount  # or it has begun to count anew
            self.usd = (self.usd or 0.0) + grown
            if grown:
                self._keep(COST, repr(grown))
            if self.usd - self._told_usd >= TELL_USD:
                self._told_usd = self.usd
                self._line(KPD, f"{dollars(self.usd)} so far")
        self._counter = amount

    def _line(self, channel: str, *lines: str) -> None:
        self.close()
        for line in lines:
            self._tell(channel, f"{line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + '…'}\n")

    def _keep(self, who: str, text: str) -> None:
        line = json.dumps({"at": round(time(), 3), "who": who, "text": text}) + "\n"
        if len(line) <= self._room:
            self._room -= len(line)
            with contextlib.suppress(OSError), self._log.open("a") as log:  # on a full disk the turn goes on without it
                log.write("\n" + line if self._torn else line)  # a crash may have left half a line
                self._torn = False


class _Entry(msgspec.Struct):
    who: str
    text: str


def transcript(log: Path) -> str:
    """Return the log of a session as text. Raises OSError."""
    told, last = [], ""
    for entry in _entries(log):
        if entry.who == COST:
            continue
        if entry.who != last or entry.who not in (AGENT, THOUGHT):
            told.append(f"\n## {entry.who}\n\n" if entry.who != last else "\n")
        told.append(entry.text)
        last = entry.who
    return "".join(told).lstrip() + "\n"


def told_usd(log: Path) -> float:
    """Return what the agent has said that the session has cost, also in a turn that a kill has cut off."""
    try:
        return sum(float(entry.text) for entry in _entries(log) if entry.who == COST)
    except FileNotFoundError:
        return 0.0


def _entries(log: Path) -> Iterator[_Entry]:
    """Read a log; what is no whole line is passed over. Raises OSError."""
    for line in log.read_bytes().splitlines():
        with contextlib.suppress(msgspec.MsgspecError):
            yield msgspec.json.decode(line, type=_Entry)


def usage_of(found: Any) -> Usage:
    """Read the tokens of an answer to a prompt; zeros where it has none."""
    if found is None:
        return Usage()
    return Usage(found.input_tokens, found.cached_write_tokens or 0, found.cached_read_tokens or 0, found.output_tokens)


def _words(content: Any) -> str:
    text = content.get("text") if isinstance(content, Mapping) else None
    return text if isinstance(text, str) else ""
