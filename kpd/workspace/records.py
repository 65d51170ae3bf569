"""Decides which files of a task are records: what its own tools write, `[task] records` in task.toml.

An entry is a file (`benchmark.csv`), a folder (`profile/`) or a glob (`results/*.jsonl`), written as in `editable`.
"""

import re
from collections.abc import Collection, Iterable
from pathlib import Path

from kpd.workspace.editable import BadEditable, area_pattern, clash, covers, ignored, is_area
from kpd.workspace.paths import OutsideFolder, inside

_ENTRY = re.compile(r"[A-Za-z0-9._+*?/-]+")


class BadRecords(BadEditable):
    """The error that an entry of `records` is refused; `remedy` says what to write instead."""


def is_record(records: Iterable[str], path: str) -> bool:
    """Return whether the file `path` is a record."""
    return any(covers(entry, path) for entry in records)


def refuse_records(folder: Path, records: tuple[str, ...], editable: Iterable[str], judges: Collection[str]) -> None:
    """Check the entries of `records`. Raises BadRecords.

    None may cover a file that a candidate may have, nor one of the `judges`: a candidate could put a result there.
    """
    for entry in records:
        try:
            inside(folder, entry.rstrip("/"))
        except OutsideFolder as err:
            raise BadRecords(f"record {err}", "name files inside the task's folder") from err
        parts = entry.rstrip("/").split("/")
        if not _ENTRY.fullmatch(entry) or any(ignored(part) or ("**" in part and part != "**") for part in parts):
            raise BadRecords(f"record {entry!r} cannot be read", "write 'bench.csv', 'profile/' or 'results/*.jsonl'")
        if not is_area(entry) and (folder / entry).is_dir():
            raise BadRecords(f"record {entry!r} is a folder", f"write {entry + '/'!r}")
        for other in editable:
            if overlap(entry, other):
                message = f"the record {entry!r} and the editable {other!r} have files in common"
                raise BadRecords(message, "keep what a candidate writes apart from what the task's tools write")
        if judge := next((judge for judge in judges if covers(entry, judge)), ""):
            raise BadRecords(f"the record {entry!r} covers {judge!r}, which judges a candidate", "leave it out")


def overlap(one: str, other: str) -> bool:
    """Return whether some path can lie in both entries, or be a folder of the other, in any case of letters."""
    a, b = (entry.lower() for entry in (one, other))
    if not is_area(a) and not is_area(b):
        return a == b or clash((a,), (b,)) is not None
    return _meet(area_pattern(a), area_pattern(b))


def folders(records: Iterable[str]) -> tuple[str, ...]:
    """Return the folders that a command finds, empty, when it begins: those that entries name before any glob."""
    found = []
    for entry in records:
        parts = entry.rstrip("/").split("/")
        whole = parts if entry.endswith("/") else parts[:-1]
        plain = next((nth for nth, part in enumerate(whole) if "*" in part or "?" in part), len(whole))
        found.append("/".join(whole[:plain]))
    return tuple(dict.fromkeys(filter(None, found)))


def expression(entry: str) -> str:
    """Return a regular expression for the paths of the files that an entry covers."""
    text = ""
    parts = area_pattern(entry)
    for nth, part in enumerate(parts):
        last = nth == len(parts) - 1
        if part == "**":
            text += "(?:[^/]+/)*"
        else:
            text += "".join({"*": "[^/]*", "?": "[^/]"}.get(char, re.escape(char)) for char in part)
            text += "" if last else "/"
    return text


def _meet(one: list[str], other: list[str]) -> bool:
    """Return whether two patterns of names share a path, or one's path is a folder of the other's."""
    if not one or not other:
        return True
    if one[0] == "**":
        return _meet(one[1:], other) or _meet(one, other[1:])
    if other[0] == "**":
        return _meet(other, one)
    return _names_meet(one[0], other[0]) and _meet(one[1:], other[1:])


def _names_meet(one: str, other: str) -> bool:
    if not one or not other:
        return not (one + other).strip("*")
    if one[0] == "*":
        return _names_meet(one[1:], other) or _names_meet(one, other[1:])
    if other[0] == "*":
        return _names_meet(other, one)
    return ("?" in (one[0], other[0]) or one[0] == other[0]) and _names_meet(one[1:], other[1:])
