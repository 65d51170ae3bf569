"""kpd start: starts the daemon, queues tasks, and opens the UI."""

import threading
import time
from argparse import ArgumentParser, Namespace

from kpd.cli.ask import planned_workspace
from kpd.cli.attach import open_ui, require_terminal
from kpd.cli.daemon import POLL_S, ensure_daemon, listens
from kpd.cli.exit_codes import OK
from kpd.cli.init import make_first
from kpd.cli.operate import add_arguments
from kpd.cli.run import enqueue, held, task_name
from kpd.cli.terminal_text import narrate, out
from kpd.operations.runs import QueueRun
from kpd.text.foreign import visible
from kpd.wire import DaemonError
from kpd.workspace.paths import Workspace


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="queue a run of this task (name or folder)")
    parser.add_argument("--headless", action="store_true", help="run the daemon in the foreground, without the UI")
    add_arguments(parser, QueueRun, "task", "patience", "min_gain_pct", "stop_score", "usd")


def execute(args: Namespace) -> int:
    ws = planned_workspace(args)
    tasks = [task_name(ws, given) for given in args.tasks]
    if args.headless:
        make_first(ws)
        return _headless(ws, args, tasks)
    require_terminal("kpd start --headless TASK is the daemon without the UI, kpd run TASK leaves it in the background")
    make_first(ws)
    ensure_daemon(ws)
    _enqueue(ws, args, tasks)
    return open_ui(ws, read_only=False)


def _headless(ws: Workspace, args: Namespace, tasks: list[str]) -> int:
    if listens(ws):
        then = "the tasks go into its queue" if tasks else "there is nothing to start; kpd run TASK queues a run"
        narrate(f"a daemon runs already: {then}")
        _enqueue(ws, args, tasks)
        return OK
    from kpd.cli.daemon import serve

    # The daemon has the main thread, for its signals; this one waits for it, asks as any other client does, and ends.
    threading.Thread(target=_enqueue_when_ready, args=(ws, args, tasks), daemon=True).start()
    return serve(ws)


def _enqueue(ws: Workspace, args: Namespace, tasks: list[str]) -> None:
    for task in tasks:
        run = enqueue(ws, args, task)
        narrate(f"{run}: {task} is queued")
        if args.headless:
            out(run)
    if args.headless and (reason := held(ws)):
        narrate(f"{reason}; kpd resume releases it")


def _enqueue_when_ready(ws: Workspace, args: Namespace, tasks: list[str]) -> None:
    while not listens(ws):
        time.sleep(POLL_S)
    narrate(f"the daemon of {ws.root} listens; kpd attach opens the UI in another terminal, kpd shutdown ends it")
    try:
        _enqueue(ws, args, tasks)
    except DaemonError as err:
        narrate(f"kpd: {visible(str(err))}")
