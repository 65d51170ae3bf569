"""kpd project add, import: write the table of a project into config.toml and leave the rest of the file as it is."""

import json
import sys
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from kpd.cli.config_table import append
from kpd.cli.exit_codes import OK, CliError
from kpd.cli.terminal_text import narrate, out
from kpd.production.config_env import BadSetting, imported
from kpd.text.foreign import visible
from kpd.workspace.config import load_config
from kpd.workspace.paths import Workspace
from kpd.workspace.projects import PROJECT_NAME, ProjectConfig, fault_in
from kpd.workspace.run_files import read_words

LISTS = ("files", "binary", "context", "outputs", "flags")
QUESTIONS = {
    "host": "the host, a name of `kpd hosts`",
    "root": "the project's folder there, the only place that kpd changes",
    "files": "the sources that a candidate replaces, below that folder",
    "binary": "the programs or libraries that the build makes of them",
    "build_dir": "the folder below which the build writes",
    "build": "the command that builds",
    "run": "the command that runs the program on a job of production",
    "kernel": "the kernel's name",
}
OPTIONAL = {
    "verify": "the program's own check of its result, a command",
    "outputs": "else the files that a run writes, the same each time",
    "context": "files that agents are shown, below the root",
    "flags": "options with which the kernel is compiled: -I, -D",
}
"""What a project may have; a deployment needs one of the first two."""
CARGO = {"build": "cargo build --release", "build_dir": "target"}
"""What the programs of a `config.env` have in common."""


def arguments(parser: ArgumentParser) -> None:
    """Add an option for each key that says what the project is; the others are edited in config.toml."""
    for key, what in (QUESTIONS | OPTIONAL).items():
        repeated: dict[str, Any] = {"action": "append"} if key in LISTS else {}
        parser.add_argument(f"--{key.replace('_', '-')}", dest=key, metavar=_metavar(key), help=what, **repeated)
    parser.add_argument("--cwd", metavar="DIR", help="the folder in which the commands run, below the root")


def add(ws: Workspace, args: Namespace) -> int:
    """Add the project, after asking for what is missing, on a terminal. Raises CliError, WorkspaceError."""
    return _write(ws, args.name, _answered(_given(args), args.name, tuple(load_config(ws).hosts)))


def import_env(ws: Workspace, args: Namespace) -> int:
    """Add the project that a config.env describes. Raises CliError, WorkspaceError, OSError."""
    path = Path(args.path)
    text = read_words(path)
    if text is None:
        raise CliError(f"{path}: no such file", "give the path of a config.env")
    try:
        found = imported(text)
    except BadSetting as err:
        where = f"{path}:{err.line}" if err.line else str(path)
        raise CliError(visible(f"{where}: {err.message}"), err.remedy) from err
    given = {**CARGO, "run": found.keys["binary"][0], **found.keys, **_given(args)}
    given.setdefault("host", _host(ws, found.address))
    for told in found.told:
        narrate(visible(f"not the project's: {told}"))
    return _write(ws, args.name or _plain(str(given["kernel"])), given)


def _given(args: Namespace) -> dict[str, Any]:
    keys = (*QUESTIONS, *OPTIONAL, "cwd")
    given = {key: getattr(args, key) for key in keys if getattr(args, key) is not None}
    return {key: tuple(value) if key in LISTS else value for key, value in given.items()}


def _answered(given: dict[str, Any], name: str, hosts: tuple[str, ...]) -> dict[str, Any]:
    """Return the keys with a person's answers for those that are missing.

    Raises CliError where nobody answers, and before the first question where a key that is given cannot be so.
    """
    asked = False
    for key, question in QUESTIONS.items():
        if key not in given:
            if not asked and (wrong := fault_in(given, hosts)):
                raise CliError(visible(wrong[0]), visible(wrong[1]))
            asked = True
            missing = CliError(f"project {name} needs {question}", f"say it with --{key.replace('_', '-')}")
            if not sys.stdin.isatty():
                raise missing
            narrate(question)
            try:
                given[key] = _answer(key, given, hosts, needed=True)
            except EOFError as err:
                raise missing from err
    return given | _more(given, hosts) if asked else given


def _more(given: dict[str, Any], hosts: tuple[str, ...]) -> dict[str, Any]:
    """Return a person's answers for keys that a project may lack; an empty one is none."""
    found: dict[str, Any] = {}
    for key, question in OPTIONAL.items():
        if key not in given:
            narrate(f"{question} (Enter: none)")
            with suppress(EOFError):
                if said := _answer(key, given, hosts, needed=False):
                    found[key] = said
    return found


def _answer(key: str, given: dict[str, Any], hosts: tuple[str, ...], needed: bool) -> str | tuple[str, ...]:
    """Ask until an answer can be the key's value beside what is given; an empty one can, unless it is `needed`."""
    while True:
        said = input(f"{key}: ").strip()
        value = tuple(said.split()) if key in LISTS else said
        if not said and not needed:
            return value
        if not (wrong := fault_in({**given, key: value}, hosts) if said else ("a project needs one",)):
            return value
        narrate(visible("; ".join(wrong)))


def _host(ws: Workspace, address: str) -> str:
    """Return the name of the configured host with this address, of which the user may be missing. Raises CliError."""
    hosts = load_config(ws).hosts
    for name, host in hosts.items():
        if address and address in (host.address, host.address.rpartition("@")[2], name):
            return name
    remedy = f"kpd hosts add {address} makes one; or name one with --host" if address else "name one with --host"
    raise CliError(
        f"no host in config.toml has the address {visible(address) or 'of SSH_HOST, which is empty'}", remedy
    )


def _write(ws: Workspace, name: str, given: dict[str, Any]) -> int:
    if not PROJECT_NAME.fullmatch(name):
        raise CliError(f"{visible(name)!r} cannot be a project's name", "use letters, digits, _ and -")
    if name in load_config(ws).project:
        raise CliError(f"there is a project {name} already", "choose another name, or edit config.toml")
    rows = [f"{field.name} = {_toml(given[field.name])}" for field in fields(ProjectConfig) if field.name in given]
    project = ProjectConfig(**given)
    append(ws, f"[project.{name}]", rows, lambda new: new.project.get(name) == project)
    narrate(f"added {name} to {visible(str(ws.config))}: kpd project check {name} looks at it and changes nothing")
    out(name)
    return OK


def _toml(value: object) -> str:
    """Write a value of a project as TOML."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {_toml(one)}' for key, one in value.items())} }}"
    return json.dumps(value, ensure_ascii=False)


def _plain(kernel: str) -> str:
    return kernel.rpartition("::")[2][:32]


def _metavar(key: str) -> str:
    return {"host": "HOST", "root": "DIR", "build_dir": "DIR", "kernel": "NAME", "flags": "FLAG"}.get(
        key, "FILE" if key in LISTS else "COMMAND"
    )
