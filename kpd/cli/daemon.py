"""kpd daemon: the workspace's daemon in the foreground, for tmux, systemd and `kpd start`."""

import asyncio
import logging
import sys
from argparse import ArgumentParser, Namespace

from kpd.cli.ask import workspace
from kpd.cli.outcome import FAILED, INFRA, CliError
from kpd.workspace.paths import Workspace


def arguments(parser: ArgumentParser) -> None:
    """No options of its own."""


def execute(args: Namespace) -> int:
    return serve(workspace(args))


def serve(ws: Workspace) -> int:
    """Be the daemon until it is told to end. Raises CliError, WorkspaceError."""
    from kpd.daemon.process import serve as serve_workspace
    from kpd.daemon.store import StoreError
    from kpd.daemon.system import AlreadyRunning

    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("kpd").setLevel(logging.INFO)
    logging.getLogger("watchfiles").setLevel(logging.WARNING)  # it logs every change
    try:
        return asyncio.run(serve_workspace(ws))
    except AlreadyRunning as err:
        raise CliError(str(err), code=FAILED) from err
    except StoreError as err:
        raise CliError(err.message, err.remedy, INFRA) from err
