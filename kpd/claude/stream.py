"""Reads one reply from a stream: its text, its stop reason, and its usage."""

from collections.abc import Mapping
from typing import Any

from kpd.claude.tokens import most_tokens
from kpd.model.spending import Usage

MOST_CHARACTERS = 4_000_000
"""No model writes so much in one reply; a longer one is not read to its end."""


class MalformedEvent(Exception):
    """An event that does not have the form of one."""


class StreamedReply:
    """A reply so far, built event by event as the service streams them.

    `begun`: the service has reported the usage of the prompt, so the call costs something. `ended`: the reply is
    complete. `stop` is the service's own word for why it ended. `cut_short`: it was longer than any real reply, so the
    rest was not read.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._used: dict[str, int] = {}
        self._length = 0
        self._thought = 0
        self.begun = False
        self.ended = False
        self.cut_short = False
        self.stop = ""

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def usage(self, max_tokens: int) -> Usage:
        """Return the tokens that the call used, as the service counts them.

        The service reports the output only at the end. Until then it is estimated from what came, rather too high, but
        never above `max_tokens`. Thinking counts as far as it was shown.
        """
        used = self._used
        written = used.get("output_tokens", 0)
        came = min(most_tokens(self.text) + self._thought, max_tokens)
        return Usage(
            input=used.get("input_tokens", 0),
            cache_write=used.get("cache_creation_input_tokens", 0),
            cache_read=used.get("cache_read_input_tokens", 0),
            output=written if self.ended else max(written, came),
        )

    def take(self, event: object) -> str:
        """Take one event and return the text it brought. Unknown kinds are ignored. Raises MalformedEvent."""
        fields = _mapping(event)
        match fields.get("type"):
            case "message_start":
                self._count(_mapping(fields.get("message")).get("usage"))
                self.begun = True
            case "content_block_delta":
                delta = _mapping(fields.get("delta"))
                match delta.get("type"):
                    case "text_delta":
                        return self._write(delta.get("text"))
                    case "thinking_delta":
                        self._thought += most_tokens(_text(delta.get("thinking")))
            case "message_delta":
                stop = _mapping(fields.get("delta")).get("stop_reason")
                self.stop = stop if isinstance(stop, str) else self.stop
                self._count(fields.get("usage"))
            case "message_stop":
                self.ended = True
        return ""

    def _write(self, piece: object) -> str:
        text = _text(piece)
        self._pieces.append(text)
        self._length += len(text)
        self.cut_short = self._length > MOST_CHARACTERS
        return text

    def _count(self, usage: object) -> None:
        """Replace the counts by those given: later ones are totals, too, and those left out stay as they were."""
        for name, count in (_mapping(usage) if usage is not None else {}).items():
            if isinstance(count, int) and not isinstance(count, bool) and count >= 0:
                self._used[name] = count


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise MalformedEvent("a piece of text that is not a string")
    return value


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise MalformedEvent("an event whose fields are not an object")
    return value
