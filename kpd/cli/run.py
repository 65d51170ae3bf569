"""kpd run: queues a run, starts the daemon if none runs, and waits for the end with --wait."""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from kpd.cli.ask import command, planned_workspace, query
from kpd.cli.daemon import ensure_daemon
from kpd.cli.exit_codes import INFRA, INTERRUPTED, OK, CliError
from kpd.cli.init import make_first
from kpd.cli.operate import add_arguments, given
from kpd.cli.parser import add_timeout, nearest
from kpd.cli.terminal_text import line, narrate, out
from kpd.operations.runs import QueueRun
from kpd.workspace.paths import Workspace
from kpd.workspace.shipped import shipped
from kpd.workspace.task import find_tasks

LONGEST_PATH = 250
"""What is longer, or has lines, is no path but the text itself."""


def task_name(ws: Workspace, given: str) -> str:
    """Return the name of the task that `given` names: by its name, or by the path of its folder. Raises CliError."""
    tasks = find_tasks(ws)
    if given in tasks:
        return given
    for base in (Path.cwd(), ws.root):
        folder = (base / given).resolve()
        if folder.name in tasks and folder.parent == shipped("tasks").resolve():
            return folder.name  # the run uses the workspace's copy
        if (name := next((name for name, path in tasks.items() if path.resolve() == folder), None)) is not None:
            return name
        if (folder / "task.toml").exists():
            raise CliError(f"{given} is not in {ws.tasks}", "copy the folder there")
    raise CliError(f"no task {given!r}", nearest(given, list(tasks)) or "kpd task new NAME makes one")


def held(ws: Workspace) -> str:
    """Return why nothing in the queue begins until a person resumes it; empty where it is not held."""
    reason = query(ws, "queue")["held"]
    return f"the queue is held: {line(reason)}" if reason else ""


def enqueue(ws: Workspace, args: Namespace, task: str) -> str:
    """Queue a run of `task` with the given options, and return its id. Raises DaemonError."""
    return str(queued(ws, args, task)["run"])


def queued(ws: Workspace, args: Namespace, task: str) -> dict[str, Any]:
    """Queue a run of `task` with the given options, and return the daemon's answer. Raises DaemonError."""
    found = {**given(args, QueueRun), "task": task}
    if "task_text" in found:
        found["task_text"] = text_of(found["task_text"])
    op = QueueRun(**found)
    answer: dict[str, Any] = command(ws, op.name, **op.args())
    return answer


def text_of(given: str) -> str:
    """Return the text of the file that `given` names, or `given` itself where there is no such file."""
    from kpd.workspace.disk import explained
    from kpd.workspace.run_files import read_words

    try:
        found = read_words(Path(given)) if len(given) < LONGEST_PATH and "\n" not in given else None
    except OSError as err:
        raise CliError(*explained(err, "--task-text", "name a text file, or write the text itself")) from err
    if found is None and len(given.split()) == 1:
        raise CliError(f"there is no file {given}", "name a text file, or write the text itself, in several words")
    return given if found is None else found


def arguments(parser: ArgumentParser) -> None:
    add_arguments(parser, QueueRun)
    waiting_arguments(parser)


def waiting_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--wait",
        action="store_true",
        help="wait for the end, also of --deploy; exit with 0 improved, 1 failed, 2 no gain, 3 infrastructure",
    )
    add_timeout(parser)


def execute(args: Namespace) -> int:
    if args.timeout is not None and not args.wait:
        raise CliError("--timeout limits the waiting of --wait", "add --wait")
    ws = planned_workspace(args)
    task = task_name(ws, args.task)
    make_first(ws)
    if ensure_daemon(ws):
        narrate("started the daemon, in the background; kpd shutdown ends it")
    return followed(ws, args, enqueue(ws, args, task))


def followed(ws: Workspace, args: Namespace, run: str, anew: bool = True) -> int:
    """Print the id of a run, queued `anew` or before, and wait for its end with --wait; return the exit code.

    Raises CliError.
    """
    out(run)
    reason = held(ws)
    if reason and args.wait:  # a person has to resume it, and --wait may run without one
        raise CliError(reason, f"{run} stays queued, and begins in its turn after kpd resume", INFRA)
    if reason:
        narrate(f"{reason}; kpd resume releases it")
    if not args.wait:
        narrate(f"{'queued; ' if anew else ''}kpd attach or kpd log -f {run} watches it")
        return OK
    import asyncio

    try:
        return asyncio.run(_waited(ws, run, args.timeout))
    except KeyboardInterrupt:
        narrate(f"no longer waiting: {run} goes on. kpd attach watches it, kpd stop {run} ends it.")
        return INTERRUPTED


async def _waited(ws: Workspace, run: str, seconds: float | None) -> int:
    from kpd.cli.halts import waiting_at_most
    from kpd.cli.waiting import wait_for

    async with waiting_at_most(seconds, run):
        return await wait_for(ws, run)
