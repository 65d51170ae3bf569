"""Makes text of others safe to show: programs, hosts, models and people may write anything.

How a text is cleaned depends on where it is shown: one line of a message (`plain`), a terminal (`visible`), a grid
of cells (`clean`), or a markdown file (`escaped`, and `bare` for the way back). None of it changes plain ASCII words.
"""

import re
import unicodedata

LONGEST = 200
LONGEST_LINE = 2_000
"""Characters of a line of cells that are read at all, so that a line of 10 MB costs no more than a long one."""

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
_PRINTABLE_ASCII = re.compile(r"[ -~]*\Z")
# Cc and Cf hold controls, bidirectional overrides and zero-width joiners; Mn and Me stack on the cell before them, and
# terminals disagree on how wide the result is. Cs, Co, Cn and the line separators have no agreed width at all.
_DROPPED = frozenset({"Cc", "Cf", "Mn", "Me"})
_UNKNOWN = frozenset({"Cs", "Co", "Cn", "Zl", "Zp"})
_MARKS = r"[\\`*_{}\[\]<>#|~!&]"
_MARK, _ESCAPED = re.compile(f"({_MARKS})"), re.compile(rf"\\({_MARKS})")


def plain(text: str, most: int = LONGEST) -> str:
    """Return `text` on one line of printable characters, cut to at most `most` characters."""
    words = " ".join("".join(char if char.isprintable() else " " for char in text[: 4 * most]).split())
    return words if len(words) <= most else f"{words[: most - 1]}…"


def visible(text: str) -> str:
    """Return `text` without anything that could control a terminal; newlines and tabs stay.

    Other control characters become their visible pictures, and characters that reorder text (they could make a diff
    read as another one) become U+FFFD.
    """
    return text if text.isascii() and text.isprintable() else "".join(map(_pictured, text))


def _pictured(char: str) -> str:
    if char in "\n\t" or char.isprintable():
        return char
    if unicodedata.category(char) == "Zs":
        return " "
    code = ord(char)
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"


def clean(text: str) -> str:
    """Return `text` as one line whose characters are as wide as kpd counts them, without control sequences."""
    head = text[:LONGEST_LINE]
    if _PRINTABLE_ASCII.match(head):
        return head
    head = _ESCAPES.sub("", head).replace("\r\n", " ").replace("\n", " ").replace("\t", "    ")
    return "".join(_cell(char) for char in unicodedata.normalize("NFC", head))


def _cell(char: str) -> str:
    category = unicodedata.category(char)
    if category in _DROPPED:
        return ""
    return "�" if category in _UNKNOWN else char


def escaped(text: str, most: int = 400) -> str:
    """Return `text` as one line of markdown that has no markup, cut to at most `most` characters."""
    return _MARK.sub(r"\\\1", plain(text, most))


def bare(text: str) -> str:
    """Remove the escapes that `escaped` added."""
    return _ESCAPED.sub(r"\1", text)
