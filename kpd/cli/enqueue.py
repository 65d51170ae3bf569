"""Queueing runs: what `run` and `start` share."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from kpd.cli.ask import command, query
from kpd.cli.outcome import CliError
from kpd.cli.parser import count, nearest
from kpd.cli.text import line
from kpd.workspace.paths import Workspace
from kpd.workspace.shipped import shipped
from kpd.workspace.task import find_tasks


def add_options(parser: ArgumentParser) -> None:
    who = "who proposes: claude, sweep, mailbox, script:FOLDER, operator, a plug-in's; claude,sweep take turns"
    parser.add_argument("--agent", metavar="A", help=who)
    parser.add_argument("--host", metavar="H", help="a host of config.toml")
    parser.add_argument("--iterations", metavar="N", type=count, help="attempts, not counting the baseline")
    gate = "have candidates wait for kpd approve before they are built"
    parser.add_argument("--approve", action="store_true", default=None, help=gate)


def task_name(ws: Workspace, given: str) -> str:
    """The task that `given` names: by its name, or by the path of its folder. Raises CliError."""
    tasks = find_tasks(ws)
    if given in tasks:
        return given
    for base in (Path.cwd(), ws.root):
        folder = (base / given).resolve()
        if folder.name in tasks and folder.parent == shipped("tasks").resolve():
            return folder.name  # its run is of the workspace's copy
        if (name := next((name for name, path in tasks.items() if path.resolve() == folder), None)) is not None:
            return name
        if (folder / "task.toml").exists():
            raise CliError(f"{given} is not in {ws.tasks}", "copy the folder there")
    raise CliError(f"no task {given!r}", nearest(given, list(tasks)) or "kpd task new NAME makes one")


def held(ws: Workspace) -> str:
    """Why nothing in the queue begins before a person says so; empty when it is not held."""
    reason = query(ws, "queue")["held"]
    return f"the queue is held: {line(reason)}" if reason else ""


def enqueue(ws: Workspace, args: Namespace, task: str) -> str:
    """Queue a run of `task` with the options given, and return its id. Raises DaemonError."""
    options = {
        name: getattr(args, name, None)
        for name in ("agent", "host", "iterations", "patience", "min_gain_pct", "stop_score", "usd", "approve")
    }
    return str(command(ws, "run", task=task, **options)["run"])
