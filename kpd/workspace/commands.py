"""The commands of a task that brings its own benchmark: where they may stand, and what they must not run."""

import shlex
from collections.abc import Iterable, Mapping

from kpd.workspace.strict import Document

HAVE = "triton, python, command"
"""kpd's own languages whose tasks have commands."""


def refuse(
    document: Document,
    language: str,
    bring: bool,
    editable: Iterable[str],
    commands: Mapping[str, str | None],
    device: str,
) -> None:
    """Raises ConfigError for a command that is missing, out of place, or runs what an agent may edit.

    `bring` says whether tasks in this language bring their own benchmark. `commands` are those of task.toml by their
    table: check, bench, final, profile. `device` is that of [need].
    """
    if device and not bring:
        message = f"'device' in [need], but a task in {language} is always measured on the same kind"
        raise document.error(message, "remove it", "need", "device")
    for table, command in commands.items():
        if command is not None:
            if not bring:
                message = f"'command' in [{table}], but kpd's own driver measures a task in {language}"
                remedy = f"remove it; languages with commands are {HAVE}"
                raise document.error(message, remedy, table, "command")
            _refuse_one(document, table, command, set(editable))
    if bring and commands["bench"] is None:
        remedy = 'for example command = "python3 benchmark.py --json"'
        raise document.error(f"a task in {language} needs a 'command' in [bench]", remedy, "bench")


def _refuse_one(document: Document, table: str, command: str, editable: set[str]) -> None:
    what = f"'command' in [{table}]"
    if not command.isprintable():
        raise document.error(f"{what} has a control character", "write it on one line", table, "command")
    try:
        words = shlex.split(command)
    except ValueError as err:
        raise document.error(f"{what} cannot be read: {err}", "write it as for a shell", table, "command") from err
    if not words:
        raise document.error(f"{what} is blank", "name a program, or remove it", table, "command")
    judge = next((word for word in words if word.removeprefix("./") in editable), None)
    if judge is not None and table != "profile":
        remedy = "what judges a candidate must be protected"
        raise document.error(f"{what} runs {judge!r}, which an agent may edit", remedy, table, "command")
