"""Reads and writes points of a task's `[tune]` space in the editable files.

A parameter is, in this order: a JSON key of an editable `.json` file, a `#define NAME value` of a C or CUDA file, or a
`NAME = value` constant at the start of a line of any other file.
"""

import json
import math
import re

from kpd.text.foreign import plain
from kpd.workspace.task import Task

Point = dict[str, str]
BOOLEANS = ("True", "False")
"""Python's words for what task.toml and JSON call true and false."""
C_LIKE = (".c", ".h", ".cc", ".cpp", ".cu", ".cuh")


class SpaceError(ValueError):
    """A `[tune]` table that does not fit the editable files; the message names the parameter and the remedy."""


def size(space: dict[str, tuple[str, ...]]) -> int:
    return math.prod(len(values) for values in space.values())


def read_point(task: Task, files: dict[str, bytes]) -> Point:
    """Read the values that the files hold now.

    Raises SpaceError for a parameter that no file has, and for a value that could not be written into one.
    """
    found: Point = {}
    for name in task.tune:
        values = [value for path, data in files.items() if (value := _get(path, data, name)) is not None]
        if not values:
            where = ", ".join(files)
            raise SpaceError(
                f"[tune] {name} is neither a #define, a JSON key nor a constant in {where}; add it or drop it"
            )
        python = values[0] in BOOLEANS and values[0] not in task.tune[name]
        found[name] = values[0].lower() if python else values[0]
        for path, data in files.items():
            if path.endswith(".json") and name in (table := _json(data)):
                for value in task.tune[name]:
                    _valued(path, name, table[name], value)
    return found


def point_of(task: Task, files: dict[str, bytes]) -> Point:
    """Return the point at which the files stand; empty where they are outside the space."""
    try:
        point = read_point(task, files)
    except SpaceError:
        return {}
    return point if all(value in task.tune[name] for name, value in point.items()) else {}


def write_point(files: dict[str, bytes], point: Point) -> dict[str, bytes]:
    """Return the files with every parameter of `point` set. Raises SpaceError.

    Everything else keeps its bytes, except that a JSON file in which a parameter is set is formatted anew.
    """
    written = dict(files)
    for name, value in point.items():
        for path, data in written.items():
            if _get(path, data, name) is not None:
                written[path] = _set(path, data, name, value)
    return written


def _pattern(path: str, name: str) -> re.Pattern[bytes]:
    key = re.escape(name.encode())
    if path.endswith(C_LIKE):
        return re.compile(rb"^([ \t]*#[ \t]*define[ \t]+" + key + rb"[ \t]+)([^\s/]+)", re.MULTILINE)
    return re.compile(rb"^(" + key + rb"[ \t]*=[ \t]*)([^\s#]+)", re.MULTILINE)


def _get(path: str, data: bytes, name: str) -> str | None:
    if path.endswith(".json"):
        value = _json(data).get(name)
        return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    match = _pattern(path, name).search(data)
    return match[2].decode(errors="replace") if match else None


def _set(path: str, data: bytes, name: str, value: str) -> bytes:
    if path.endswith(".json"):
        table = _json(data)
        return json.dumps({**table, name: _valued(path, name, table[name], value)}, indent=2).encode() + b"\n"

    def put(match: re.Match[bytes]) -> bytes:
        python = match[2].decode(errors="replace") in BOOLEANS and value in ("true", "false")
        return match[1] + (value.capitalize() if python else value).encode()

    return _pattern(path, name).sub(put, data, count=1)


def _valued(path: str, name: str, before: object, value: str) -> str | int | float | bool:
    """Convert `value` to the JSON type of `before`: a number for a number, a boolean for one. Raises SpaceError."""
    if isinstance(before, bool):
        if value not in ("true", "false"):
            message = f"[tune] {name} is a boolean in {path}, which {plain(value, 40)!r} is not; give true and false"
            raise SpaceError(message)
        return value == "true"
    if not isinstance(before, int | float):
        return value
    try:
        number = json.loads(value)
    except (ValueError, RecursionError):
        number = None
    if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
        raise SpaceError(f"[tune] {name} is a number in {path}, which {plain(value, 40)!r} is not; give numbers")
    return number


def _json(data: bytes) -> dict[str, object]:
    try:
        table = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return table if isinstance(table, dict) else {}
