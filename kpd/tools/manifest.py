"""Reads a tool's manifest, tool.toml, and its skill, SKILL.md."""

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec

from kpd.tools.files import BadTool
from kpd.workspace.strict import MOST_BYTES, ConfigError, Document, Text

MANIFEST, SKILL = "tool.toml", "SKILL.md"
NAME = re.compile(r"(?!kpd)[a-z][a-z0-9-]{1,31}")
"""Names that begin with kpd's own would be taken for kpd's."""
WRITTEN = (r"`(NAME)`", r"\bmcp__(NAME)__", r"\btools/(NAME)\b", r"\b(NAME)@[0-9a-f]{4}")
POINTER = re.compile("|".join(form.replace("NAME", NAME.pattern) for form in WRITTEN))
MOST_POINTS = 200
"""How the name of a tool is written in words; it may be any word in these places."""
INTERPRETER = ("python", "python3")
MOST_SKILL = 16 << 10
MOST_SUMMARY = 200
"""Bytes of a skill, and characters of a summary."""
MOST_CALL_S = 120.0
CallTime = Annotated[float, msgspec.Meta(gt=0, le=MOST_CALL_S)]


@dataclass(frozen=True, slots=True)
class Manifest:
    """What tool.toml says. `server` starts a server of the Model Context Protocol, `self_test` and `tests` check it.

    A call of one of its tools takes `call_s` seconds at most. `samples` has the arguments of a call for each of them;
    one that is left out is called without any.
    """

    name: Text
    summary: Text
    server: tuple[Text, ...] = ()
    self_test: tuple[Text, ...] = ()
    tests: tuple[Text, ...] = ()
    call_s: CallTime = 20.0
    samples: dict[str, dict[str, Any]] = field(default_factory=dict)


def read_manifest(files: Mapping[str, bytes]) -> Manifest:
    """Read and check the manifest among a tool's files. Raises BadTool."""
    if MANIFEST not in files:
        raise BadTool(f"there is no {MANIFEST}", f"write {MANIFEST} with name and summary at the top of the folder")
    if len(files[MANIFEST]) > MOST_BYTES:
        raise BadTool(f"{MANIFEST} has more than {MOST_BYTES >> 10} KiB", "keep data elsewhere")
    try:
        found = Document.parse(Path(MANIFEST), files[MANIFEST]).convert(Manifest)
    except ConfigError as err:
        raise BadTool(err.message, err.remedy) from err
    if not NAME.fullmatch(found.name):
        raise BadTool(f"{found.name!r} cannot be a tool's name", "use 2 to 32 of a-z, 0-9 and -; not kpd in front")
    if len(found.summary) > MOST_SUMMARY or not found.summary.isprintable():
        raise BadTool("summary is no line of words", f"use one line of {MOST_SUMMARY} characters at most")
    if found.server and not (found.self_test and found.tests):
        raise BadTool("a server without self_test and tests", f"give both in {MANIFEST}, as argument lists")
    if not found.server and SKILL not in files:
        raise BadTool("neither a server nor a skill", f"write server = [...] in {MANIFEST}, or a {SKILL}")
    return found


def skill_trouble(files: Mapping[str, bytes]) -> str:
    """Return what is wrong with a tool's skill; empty where it is fine."""
    data = files[SKILL]
    if len(data) > MOST_SKILL:
        return f"it has {len(data)} bytes; {MOST_SKILL} are the most"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return "it is not UTF-8"
    body = [line for line in text.splitlines() if line.strip() and not line.startswith(("#", "---"))]
    return "" if len(body) >= 2 else "it says too little: write when it helps, and what to do, in two lines at least"


def points(files: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return the names that a tool's manifest and skill point at, as one writes the name of a tool; sorted."""
    told = "\n".join(files[path].decode(errors="replace") for path in (MANIFEST, SKILL) if path in files)
    found = {name for match in POINTER.finditer(told) for name in match.groups() if name}
    return tuple(sorted(found)[:MOST_POINTS])


def command(words: tuple[str, ...], folder: Path, files: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return a command of the manifest for a tool in `folder`.

    Words that name a file or a folder of the tool get their whole path; `python` is kpd's own, which has the SDK of the
    protocol.
    """
    folders = {"/".join(path.split("/")[:depth]) for path in files for depth in range(1, path.count("/") + 1)}
    found = [str(folder / word) if word in files or word.rstrip("/") in folders else word for word in words]
    return (sys.executable if found[0] in INTERPRETER else found[0], *found[1:])
