"""Completes command lines for a shell: verbs, options, and names by the kind of an argument.

argcomplete talks to the shell and finds the argument at the cursor; its declared metavar says which names fit. The
names come from the daemon, or from the files without one. An error leaves nothing to choose from, and prints nothing.
"""

from __future__ import annotations

import os
import re
from argparse import Action, ArgumentParser
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import argcomplete
from argcomplete.completers import BaseCompleter
from argcomplete.lexers import split_line

from kpd.cli.exit_codes import CliError
from kpd.cli.operate import agents
from kpd.cli.parser import Parser, add_workspace
from kpd.cli.terminal_text import line
from kpd.client import ask
from kpd.wire import DaemonError, NoDaemon
from kpd.workspace.paths import NoWorkspace, Workspace, WorkspaceError
from kpd.workspace.shipped import shipped

if TYPE_CHECKING:
    from kpd.cli.main import Verb

PATIENCE_S = 0.5
"""How long a daemon may take to answer: a person has pressed Tab and waits."""
Found = dict[str, str]


def complete(verbs: Sequence[Verb], prepare: Callable[[ArgumentParser, Verb], object]) -> None:
    """Answer the shell, which asks through the environment, and end the process. Imports only the typed verb."""
    typed = split_line(os.environ["COMP_LINE"], int(os.environ["COMP_POINT"]))[3]
    top = Parser(prog="kpd", allow_abbrev=False)
    add_workspace(top, None)
    top.add_argument("--version", action="store_true", help="print kpd's version")
    under = top.add_subparsers(dest="verb")
    for verb in verbs:
        parser = under.add_parser(verb.name, help=verb.help, allow_abbrev=False)
        if verb.name in typed:
            add_workspace(parser, None)
            prepare(parser, verb)
    _offer(top, NameCompleter(_named(typed)))
    argcomplete.autocomplete(top, always_complete_options=False, default_completer=NoCompletion())


class NoCompletion(BaseCompleter):
    """A completion without choices, for free text, numbers and files: the shell completes files by itself."""

    def __call__(self, **asked: Any) -> Iterable[str]:
        return ()


class NameCompleter:
    """The names that arguments can have, each with a short description, read when they are asked for."""

    def __init__(self, named: str | None) -> None:
        self._named = named

    def fitting(self, kinds: Sequence[str], prefix: str, **asked: Any) -> Found:
        """Return the names of these kinds with their descriptions. A name that a terminal cannot print is left out."""
        found: Found = {}
        for kind in kinds:
            try:
                found |= KINDS[kind](self, prefix)
            except (WorkspaceError, DaemonError, OSError):
                continue  # while completing, there is nowhere to show an error
        return {name: line(help) for name, help in found.items() if name and name.isprintable()}

    @cached_property
    def workspace(self) -> Workspace:
        try:
            return Workspace.find(Path(self._named) if self._named else None)
        except NoWorkspace:
            return Workspace.first()

    @cached_property
    def status(self) -> dict[str, Any] | None:
        """The daemon's status; None where no daemon runs."""
        try:
            return dict(self._ask("status"))
        except NoDaemon:
            return None

    def _ask(self, what: str) -> Any:
        return ask(self.workspace.socket, "query", what, timeout=PATIENCE_S)

    def runs(self) -> Found:
        if self.status is not None:
            known = self.status["runs"].values()
            return {run["id"]: f"{run['task']}, {run['status']}" for run in reversed(known)}
        return {folder.name: folder.parent.name for folder in self._run_folders()}

    def iterations(self) -> Found:
        if self.status is not None:
            known = reversed(self.status["runs"].values())
            return {f"{run['id']}.{number}": run["task"] for run in known for number in range(run["count"])}
        return {
            f"{folder.name}.{int(path.name.removeprefix('iter_'))}": folder.parent.name
            for folder in self._run_folders()
            for path in sorted(folder.glob("iter_[0-9]*"))
            if path.name.removeprefix("iter_").isdecimal()
        }

    def _run_folders(self) -> list[Path]:
        """Return the folders of runs that have begun, the newest first."""
        found = [path for path in self.workspace.runs.glob("*/r*") if re.fullmatch(r"r[1-9][0-9]{0,8}", path.name)]
        return sorted(found, key=lambda path: int(path.name[1:]), reverse=True)

    def tasks(self) -> Found:
        from kpd.workspace.task import find_tasks

        return dict.fromkeys(find_tasks(self.workspace), "")

    def hosts(self) -> Found:
        if self.status is not None:
            return {host["name"]: host["device"] or host["error"] for host in self.status["hosts"].values()}
        from kpd.workspace.config import load_config

        return {name: host.address for name, host in load_config(self.workspace).hosts.items()}

    def projects(self) -> Found:
        from kpd.workspace.config import load_config

        return {name: project.root for name, project in load_config(self.workspace).project.items()}

    def agents(self, prefix: str) -> Found:
        """Return the agents' names, each after the text before the argument's last comma: it can name several."""
        before = "".join(prefix.rpartition(",")[:2])
        return {f"{before}{name}": "" for name in agents()}

    def rules(self) -> Found:
        """Return the rules that the daemon knows. Raises NoDaemon: only a run under way has rules to pin or ban."""
        return {rule["id"]: rule["action"] for rule in self._ask("rules")}

    def skills(self) -> Found:
        try:
            return {skill["id"]: skill["signal"] for skill in self._ask("skills")}
        except NoDaemon:
            files = [path for base in (shipped("skills"), self.workspace.skills) for path in base.glob("[!.]*.md")]
            return {path.stem: "" for path in files if path.name != "README.md"}


KINDS: dict[str, Callable[[NameCompleter, str], Found]] = {
    "RUN": lambda names, prefix: names.runs(),
    "ITER": lambda names, prefix: names.iterations(),
    "TASK": lambda names, prefix: names.tasks(),
    "HOST": lambda names, prefix: names.hosts(),
    "PROJECT": lambda names, prefix: names.projects(),
    "AGENT": NameCompleter.agents,
    "RULE": lambda names, prefix: names.rules(),
    "SKILL": lambda names, prefix: names.skills(),
}
"""The metavars that say what kind of name an argument is, and where those names are."""


def _offer(parser: ArgumentParser, names: NameCompleter) -> None:
    """Complete each argument by the kinds in its metavar, as in RUN|ITER or [RUN] AGENT[,AGENT]."""
    for action in parser._actions:
        if isinstance(action.choices, dict):
            for inner in action.choices.values():
                _offer(inner, names)
        elif kinds := [kind for kind in _kinds(action) if kind in KINDS]:
            action.completer = partial(names.fitting, kinds)  # type: ignore[attr-defined]


def _kinds(action: Action) -> list[str]:
    said = action.metavar if isinstance(action.metavar, str) else ""
    return [word.strip("[]").partition("[")[0] for word in re.split(r"[|\s]+", said)]


def _named(typed: Sequence[str]) -> str | None:
    """Return the workspace that the command line names with -w."""
    parser = Parser(add_help=False, allow_abbrev=False)
    add_workspace(parser, None)
    try:
        named: str | None = parser.parse_known_args(typed)[0].workspace
    except CliError:
        return None
    return named
