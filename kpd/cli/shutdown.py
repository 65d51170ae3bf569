"""kpd shutdown: end the daemon after the steps under way, or at once; the next daemon goes on with what is left."""

import time
from argparse import ArgumentParser, Namespace
from contextlib import suppress

from kpd.cli.ask import command, workspace
from kpd.cli.background import released
from kpd.cli.outcome import INFRA, OK, CliError
from kpd.cli.text import line, narrate
from kpd.hosts.helper.processes import exists
from kpd.wire import NoDaemon
from kpd.workspace.paths import Workspace

GONE_WITHIN_S = 30.0
STEP_WITHIN_S = 600.0
"""How long this command waits for steps to come to their end. The daemon itself waits for as long as they take."""
POLL_S = 0.02


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--now", action="store_true", help="cut the steps under way; they are begun again after resume")


def execute(args: Namespace) -> int:
    ws = workspace(args)
    try:
        answer = command(ws, "shutdown", now=args.now or None)
    except NoDaemon:
        narrate(f"no daemon runs for {ws.root}")
        return OK
    finishes = answer.get("finishes")
    if finishes:
        narrate(f"the daemon ends after {line(' and '.join(finishes))}; kpd shutdown --now ends it at once")
    deadline = time.monotonic() + GONE_WITHIN_S + (STEP_WITHIN_S if finishes else 0)
    _wait_for_release(ws, deadline)
    _wait_for_end(ws, answer.get("pid"), deadline)
    then = "what was under way waits for kpd resume" if args.now else "the next one goes on with what is left"
    narrate(f"the daemon has ended; {then}")
    return OK


def end_orphan(ws: Workspace) -> None:
    """End a daemon that still runs for a workspace that is not there any more. Raises CliError, DaemonError."""
    if not released(ws.lock):  # another command has made the workspace anew meanwhile, and started this one
        return
    with suppress(NoDaemon):
        answer = command(ws, "shutdown", now=True)
        _wait_for_end(ws, answer.get("pid"), time.monotonic() + GONE_WITHIN_S)
        narrate(f"ended the daemon of the former {ws.root}")


def _wait_for_release(ws: Workspace, deadline: float) -> None:
    """Until the next daemon may start. Raises CliError."""
    while not released(ws.lock):
        if time.monotonic() > deadline:
            raise CliError(
                "the daemon has not ended yet", f"kpd shutdown --now cuts it short; its log is {ws.log}", INFRA
            )
        time.sleep(POLL_S)


def _wait_for_end(ws: Workspace, pid: int | None, deadline: float) -> None:
    """Until the process is gone: a thread of it that hangs holds no lock. Raises CliError."""
    while pid is not None and exists(pid):
        if time.monotonic() > deadline:
            raise CliError(
                f"the daemon has let go of the workspace, but something in its process {pid} hangs",
                f"kill -9 {pid} ends it, and nothing is lost; its log is {ws.log}",
                INFRA,
            )
        time.sleep(POLL_S)
