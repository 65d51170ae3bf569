"""Asks the daemon over its socket, or reads the log itself when no daemon runs."""

import os
from argparse import Namespace
from pathlib import Path
from typing import Any

from kpd.cli.exit_codes import INFRA, CliError
from kpd.client import NoDaemon, ask, operator
from kpd.workspace.paths import NoWorkspace, Workspace


def workspace(args: Namespace) -> Workspace:
    """Find the workspace that -w, $KPD_WORKSPACE or the current folder names. Raises WorkspaceError."""
    return Workspace.find(Path(args.workspace) if args.workspace else None)


def planned_workspace(args: Namespace) -> Workspace:
    """Find the workspace as `workspace` does; where none is named and none found, return that of a first run.

    That one may not exist yet. Raises WorkspaceError.
    """
    try:
        return workspace(args)
    except NoWorkspace:
        if args.workspace or os.environ.get("KPD_WORKSPACE"):
            raise
        return Workspace.first()


def query(ws: Workspace, what: str, **args: Any) -> Any:
    """Ask the daemon, or read the log where no daemon runs; return plain JSON values. Raises DaemonError, CliError."""
    try:
        return ask(ws.socket, "query", what, args)
    except NoDaemon:
        return _from_log(ws, what, args)


def _from_log(ws: Workspace, what: str, args: dict[str, Any]) -> Any:
    from kpd.daemon.sources import Sources
    from kpd.daemon.store import StoreError
    from kpd.daemon.views import answer

    try:
        return answer(what, args, Sources.offline(ws))
    except StoreError as err:
        raise CliError(err.message, err.remedy, INFRA) from err


def command(ws: Workspace, verb: str, **args: Any) -> Any:
    """Have the daemon execute a command; arguments that are None are left out. Raises DaemonError."""
    given = {name: value for name, value in args.items() if value is not None}
    return ask(ws.socket, "command", verb, given, by=operator())
