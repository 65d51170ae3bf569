"""Sentences that belong beside the code, and stand before or after it."""

import re
from collections.abc import Mapping

from kpd.source.text import code, language
from kpd.workspace.task import Task

_SENTENCE = re.compile(r"[A-Z](?:[\w,'’()%/–—-]+ +){3,60}[\w,'’()%/–—-]+[.!:]\s*")
"""Capital, four words or more, and a full stop: in no language that is looked into is that code."""


class Prose:
    """Takes away whole lines at either end of a C or CUDA file that are sentences beyond doubt: all else stays."""

    def applies(self, task: Task, incumbent: Mapping[str, bytes]) -> bool:
        return any(language(path) == "c" for path in task.editable)

    def hints(self, task: Task, incumbent: Mapping[str, bytes]) -> tuple[str, ...]:
        return ()

    def tidy(self, files: Mapping[str, bytes]) -> dict[str, bytes]:
        return {path: _tidied(path, data) if language(path) == "c" else data for path, data in files.items()}


def _tidied(path: str, data: bytes) -> bytes:
    text = data.decode(errors="surrogateescape")
    lines, bare = text.split("\n"), code(path, text).split("\n")  # a sentence in a comment is blank in the second
    start, end = 0, len(lines)
    while start < end and _is_prose(lines, bare, start):
        start += 1
    while end > start and _is_prose(lines, bare, end - 1):
        end -= 1
    if not any(line.strip() for line in (*lines[:start], *lines[end:])):
        return data
    return "\n".join((*lines[start:end], "")).encode(errors="surrogateescape")


def _is_prose(lines: list[str], bare: list[str], at: int) -> bool:
    """Blank lines, too: they are taken away with the sentences beyond them, or not at all."""
    line = lines[at].strip()
    in_code = bare[at].strip()[:1] == line[:1]  # an apostrophe in the sentence looks like a literal
    goes_on = at > 0 and lines[at - 1].rstrip().endswith("\\")  # then it is a part of a macro
    return not line or (in_code and not goes_on and _SENTENCE.fullmatch(line) is not None)
