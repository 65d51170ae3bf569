"""kpd shutdown: end the daemon; what was under way waits in the log for the next one."""

import fcntl
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path

from kpd.cli.ask import command, workspace
from kpd.cli.outcome import INFRA, OK, CliError
from kpd.cli.text import narrate
from kpd.wire import NoDaemon

GONE_WITHIN_S = 30.0
POLL_S = 0.02


def arguments(parser: ArgumentParser) -> None:
    """No options of its own."""


def execute(args: Namespace) -> int:
    ws = workspace(args)
    try:
        command(ws, "shutdown")
    except NoDaemon:
        narrate(f"no daemon runs for {ws.root}")
        return OK
    deadline = time.monotonic() + GONE_WITHIN_S
    while not _released(ws.lock):
        if time.monotonic() > deadline:
            raise CliError(f"the daemon has not ended after {GONE_WITHIN_S:g} s", f"its log is {ws.log}", INFRA)
        time.sleep(POLL_S)
    narrate("the daemon has ended; what was under way waits for the next one")
    return OK


def _released(lock: Path) -> bool:
    """Whether no daemon holds the workspace any more: only then may the next one start."""
    with lock.open("rb") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True
