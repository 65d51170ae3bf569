"""Handles some forms of kernels: adds hints to the prompt, and removes what is certainly no code from a reply's files.

The same input gives the same output, and no state is kept. What is doubtful stays, so that later checks can name it.
"""

import re
from collections.abc import Iterator, Mapping

from kpd.agents.interface import entries, instances, kernel_text
from kpd.source.functions import functions
from kpd.source.text import code, language
from kpd.workspace.task import Task

MOST_NAMES = 3
MOST_INSTANCES = 8
_SENTENCE = re.compile(r"[A-Z](?:[\w,'’()%/–—-]+ +){3,60}[\w,'’()%/–—-]+[.!:]\s*")
"""A capital, four words or more, and a full stop: that is no code in C or CUDA."""


def hints(task: Task, incumbent: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return what the prompt should say about this task's kernel, one sentence each."""
    return (*_namespaces(task, incumbent), *_templates(task, incumbent))


def tidy(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Remove lines that are certainly prose from both ends of files in C or CUDA; everything else stays."""
    return {path: _without_prose(path, data) if language(path) == "c" else data for path, data in files.items()}


def _namespaces(task: Task, incumbent: Mapping[str, bytes]) -> Iterator[str]:
    """Yield a hint on the namespace of each kernel: a reply that opens or closes one wrongly is not repaired."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for path, text in kernel_text(task, incumbent).items():
        for each in functions(path, text) if language(path) == "c" else ():
            if each.defined and each.scope and not each.member:
                space = "::".join(name or "(unnamed)" for name in each.scope)
                found.setdefault((path, space), {})[f"`{each.name}`"] = None
    for (path, space), names in found.items():
        shown = _some(list(names), MOST_NAMES)
        yield f"{path}: {shown} must stay in namespace {space}; open and close it as the file does."


def _templates(task: Task, incumbent: Mapping[str, bytes]) -> Iterator[str]:
    """Yield hints on kernels that others call with template parameters, or that are instantiated explicitly."""
    for entry in entries(task, incumbent):
        if entry.of[0].template:
            yield (
                f"{entry.path}: {entry.where} calls `{entry.name}` with its template parameters "
                f"<{' '.join(entry.of[0].template.split())}>; keep them, new ones need defaults."
            )
    if found := instances(task, incumbent):
        yield f"Keep the explicit instantiations: {_some([f'`{each};`' for each in found], MOST_INSTANCES)}."


def _some(names: list[str], most: int) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _without_prose(path: str, data: bytes) -> bytes:
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
    """Return whether a line is a sentence or blank.

    Blank lines count, so that they are removed with the sentences beyond them, or not at all.
    """
    line = lines[at].strip()
    in_code = bare[at].strip()[:1] == line[:1]  # an apostrophe in the sentence looks like a literal
    goes_on = at > 0 and lines[at - 1].rstrip().endswith("\\")  # then it is a part of a macro
    return not line or (in_code and not goes_on and _SENTENCE.fullmatch(line) is not None)
