"""kpd attach: the UI on a running daemon."""

import sys
from argparse import ArgumentParser, Namespace

from kpd.cli.ask import workspace
from kpd.cli.background import listens
from kpd.cli.outcome import CliError
from kpd.cli.text import narrate
from kpd.wire import NoDaemon
from kpd.workspace.paths import Workspace


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--read-only", action="store_true", help="look, without being able to change anything")


def execute(args: Namespace) -> int:
    ws = workspace(args)
    require_terminal("kpd status, kpd log and kpd show print the same as text")
    if not listens(ws):
        raise NoDaemon()
    return open_ui(ws, read_only=args.read_only)


def require_terminal(remedy: str) -> None:
    """The UI needs one at both ends. Raises CliError."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CliError("the UI needs a terminal, and this is none", remedy)


def open_ui(ws: Workspace, read_only: bool) -> int:
    """Show the UI until the operator leaves it, then say what goes on."""
    from tui import app

    code = app.run(ws, read_only=read_only)
    if listens(ws):
        narrate("detached: the daemon goes on. kpd attach comes back, kpd shutdown ends it.")
    else:
        narrate("the daemon has ended. kpd start starts it again; nothing is lost.")
    return code
