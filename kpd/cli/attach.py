"""kpd attach: opens the UI on a running daemon, here or on another machine."""

import importlib
import os
import signal
import sys
from argparse import ArgumentParser, Namespace

from kpd.cli.ask import workspace
from kpd.cli.daemon import listens
from kpd.cli.exit_codes import CliError
from kpd.cli.terminal_text import narrate
from kpd.wire import NoDaemon
from kpd.workspace.paths import Workspace

HUNG_UP = 128 + signal.SIGHUP
"""Exit code of a UI whose terminal is gone, so that nothing more can be printed."""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--ssh", metavar="[USER@]HOST[:PORT]", help="connect to a daemon on that machine; -w then names a folder there"
    )
    parser.add_argument("--accept-new", action="store_true", help="with --ssh: trust an unknown host key")
    parser.add_argument("--read-only", action="store_true", help="refuse all changes")
    parser.add_argument("--low-bandwidth", action="store_true", help="send and draw less, as [tui] low_bandwidth")


def execute(args: Namespace) -> int:
    if args.ssh is not None:
        require_terminal(f"ssh {args.ssh} kpd status, kpd log and kpd show print the same as text")
        import asyncio

        return asyncio.run(_over_ssh(args))
    if args.accept_new:
        raise CliError("--accept-new is for --ssh")
    ws = workspace(args)
    require_terminal("kpd status, kpd log and kpd show print the same as text")
    if not listens(ws):
        raise NoDaemon()
    return open_ui(ws, args.read_only, args.low_bandwidth)


def require_terminal(remedy: str) -> None:
    """Raise CliError, with the remedy, unless stdin and stdout are a terminal: the UI needs both."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CliError("the UI needs a terminal, and this is not one", remedy)


def open_ui(ws: Workspace, read_only: bool = False, low_bandwidth: bool = False) -> int:
    """Show the UI until the operator leaves it, then say what still runs. Return the exit code."""
    from tui.main import run

    code = run(ws, read_only, low_bandwidth)
    if code == HUNG_UP:
        return code
    if listens(ws):
        narrate("detached: the daemon goes on. kpd attach comes back, kpd shutdown ends it.")
    else:
        narrate("the daemon has ended. kpd start starts it again; nothing is lost.")
    return code


async def _over_ssh(args: Namespace) -> int:
    """Show the UI on a daemon behind SSH.

    The link is made before the UI takes the terminal, so that errors of the link are printed as plain lines.
    """
    import asyncio

    from kpd.cli.remote_daemon import remote_daemon

    drawing = asyncio.create_task(asyncio.to_thread(importlib.import_module, "tui.main"))  # meanwhile
    async with remote_daemon(args.ssh, args.workspace or os.environ.get("KPD_WORKSPACE"), args.accept_new) as far:
        await drawing
        from tui.main import terminal_app
        from tui.model.feed import Feed, dialling

        tui = far.config.tui.thin() if args.low_bandwidth else far.config.tui
        dial = dialling(lambda: far.socket, args.read_only, "brief" if tui.low_bandwidth else "full", far.explain)

        async def connect() -> Feed:
            await far.linked()
            return await dial()

        app = terminal_app(connect, far.name, tui, args.read_only, far.complaint, args.ssh)
        await app.run_async()
    if app.return_code != HUNG_UP:
        narrate(f"detached: the daemon on {args.ssh} goes on.")
    return app.return_code or 0
