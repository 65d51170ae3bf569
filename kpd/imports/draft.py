"""Defines what an importer makes of a folder: the files of the task, its task.toml, and what is to be told of both."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Answers:
    """What the operator says, in place of what the folder would. Empty: nothing is said.

    `problem` names one of several problems of a folder. `last`: of several results the last one counts. `measured_by`
    says who measures where both can: "kpd" or "folder".
    """

    editable: tuple[str, ...] = ()
    bench: str = ""
    check: str = ""
    score: str = ""
    direction: str = ""
    good: tuple[str, ...] = ()
    baseline: str = ""
    problem: str = ""
    language: str = ""
    device: str = ""
    measured_by: str = ""
    last: bool = False
    unchecked: bool = False


@dataclass(slots=True)
class TaskDraft:
    """A task in the making. `copied` are the folder's files that go with it, `made` the files that kpd writes.

    `toml` is task.toml, by table and key; `prefers` are names of scores, the best first. What is `read` from the folder
    needs no word; what was `assumed` and what is `weak` is told to the operator. `checked` says that something compares
    results for certain, `judges` that the benchmark says whether they are right, whatever that is worth: so nobody has
    to look for it in what it prints. `pins` are keys of the result whose value in the first run is the right one.
    """

    copied: tuple[str, ...]
    toml: dict[str, dict[str, Any]]
    made: dict[str, bytes] = field(default_factory=dict)
    prefers: tuple[str, ...] = ()
    assumed: list[str] = field(default_factory=list)
    weak: list[str] = field(default_factory=list)
    checked: bool = False
    judges: bool = False
    pins: tuple[str, ...] = ()

    def put(self, table: str, key: str, value: Any) -> None:
        """Set a key of task.toml, if the value is not empty."""
        if value not in ("", (), [], None):
            self.toml.setdefault(table, {})[key] = value

    def get(self, table: str, key: str) -> Any:
        return self.toml.get(table, {}).get(key)


def toml(tables: Mapping[str, Mapping[str, Any]], remarks: Iterable[str] = ()) -> str:
    """Render tables as TOML, with remarks as comments before them."""
    comments = [f"# {''.join(char if char.isprintable() else ' ' for char in text)}" for text in remarks]
    parts = ["\n".join(comments)] if comments else []
    for name, table in tables.items():
        if table:
            lines = [f"{_key(key)} = {_value(value)}" for key, value in table.items()]
            parts.append("\n".join([f"[{name}]", *lines]))
    return "\n\n".join(parts) + "\n"


def _key(key: str) -> str:
    return key if key.replace("-", "").replace("_", "").isalnum() and key.isascii() else json.dumps(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_key(key)} = {_value(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)
