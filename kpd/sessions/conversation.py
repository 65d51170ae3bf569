"""Turns what an agent sends into lines that people can read, and keeps its last words and what it has cost.

All of it was written by the agent: whatever has another form than the protocol's is passed over.
"""

import contextlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from time import time
from typing import Any

import msgspec

from kpd.model.spending import Usage
from kpd.sessions.cleaning import CleanedStream, TextCleaner

LONGEST_LINE = 400
MOST_SAID = 64 << 10
MOST_LOG = 16 << 20
"""Characters of a line on a tool, of the last words that are kept, and bytes of the log of one session."""
MOST_USD = 1e6


class Conversation:
    """What was said in a turn. `message` is the agent's text since it last used a tool; `usd` is what it says that the
    turn has cost, None where it says nothing. What is `replayed` was said, and has been paid for, in an earlier turn.
    """

    def __init__(self, say: Callable[[str], None], log: Path, cleaner: TextCleaner | None = None) -> None:
        self.cleaner = cleaner or TextCleaner()
        self._say = say
        self._log = log
        self._room = MOST_LOG - (log.stat().st_size if log.exists() else 0)
        self._midline = False
        self._torn = True
        self._message = ""
        self._speaker = ""
        self._stream = CleanedStream(self.cleaner)
        self.usd: float | None = None
        self._counter = 0.0
        self.replayed = False

    @property
    def message(self) -> str:
        return self._message + self.cleaner.text(self._stream.held if self._speaker == "agent" else "")

    def note(self, who: str, text: str) -> None:
        """Add a line of kpd's own, or what kpd tells the agent."""
        self._line(f"{who}: {text}")
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
            self._spoken(kind, _words(update.get("content")))
        elif kind in ("tool_call", "tool_call_update"):
            self._tool(kind, update)

    def hear_text(self, text: str) -> None:
        """Take in the output of a program that does not speak the protocol."""
        self._spoken("agent_message_chunk", text)

    def close(self) -> None:
        """Show what was held back of the last words."""
        self._told(self._stream.rest())

    def _spoken(self, kind: str, text: str) -> None:
        speaker = "agent" if kind == "agent_message_chunk" else "thought"
        if speaker != self._speaker:
            self.close()
            self._speaker = speaker
        self._told(self._stream.feed(text))

    def _told(self, text: str) -> None:
        if not text:
            return
        if self._speaker == "agent":
            self._message = (self._message + text)[-MOST_SAID:]
        self._say(text)
        self._midline = not text.endswith("\n")
        self._keep(self._speaker, text)

    def _tool(self, kind: str, update: Mapping[str, Any]) -> None:
        title, status = update.get("title"), update.get("status")
        parts = [title] if isinstance(title, str) else []
        for part in update.get("content") or () if isinstance(update.get("content"), list) else ():
            if isinstance(part, Mapping) and part.get("type") == "diff" and isinstance(part.get("path"), str):
                parts.append(f"{Path(part['path']).name} {_size(part)}")
        self.close()
        if kind == "tool_call" or status in ("completed", "failed"):
            self._message = ""
            told = f"[{update.get('kind') or 'tool'}] " if kind == "tool_call" else f"[{status}] "
            self._line(told + ", ".join(parts))
        self._keep(kind, ", ".join(parts) or str(status))

    def _cost(self, cost: Any) -> None:
        amount = cost.get("amount") if isinstance(cost, Mapping) and cost.get("currency") == "USD" else None
        if not isinstance(amount, int | float) or not 0 <= amount < MOST_USD:
            return
        if not self.replayed:
            grown = amount - self._counter if amount >= self._counter else amount  # or it has begun to count anew
            self.usd = (self.usd or 0.0) + grown
        self._counter = amount

    def _line(self, text: str) -> None:
        self.close()
        before = "\n" if self._midline else ""
        self._say(f"{before}{text[:LONGEST_LINE]}\n")
        self._midline = False

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
    """Return the log of a session as text; what is no whole line is passed over. Raises OSError."""
    told, last = [], ""
    for line in log.read_bytes().splitlines():
        try:
            entry = msgspec.json.decode(line, type=_Entry)
        except msgspec.MsgspecError:
            continue
        if entry.who != last or entry.who not in ("agent", "thought"):
            told.append(f"\n## {entry.who}\n\n" if entry.who != last else "\n")
        told.append(entry.text)
        last = entry.who
    return "".join(told).lstrip() + "\n"


def usage_of(found: Any) -> Usage:
    """Read the tokens of an answer to a prompt; zeros where it has none."""
    if found is None:
        return Usage()
    return Usage(found.input_tokens, found.cached_write_tokens or 0, found.cached_read_tokens or 0, found.output_tokens)


def _words(content: Any) -> str:
    text = content.get("text") if isinstance(content, Mapping) else None
    return text if isinstance(text, str) else ""


def _size(diff: Mapping[str, Any]) -> str:
    old, new = (str(diff.get(key) or "").splitlines() for key in ("oldText", "newText"))
    return f"+{len(set(new) - set(old))} -{len(set(old) - set(new))}"
