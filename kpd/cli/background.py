"""Start the daemon as a process of its own, and wait until it listens."""

import fcntl
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import kpd
from kpd.cli.outcome import INFRA, CliError
from kpd.cli.text import narrate, plain
from kpd.workspace.paths import Workspace

READY_WITHIN_S = 30.0
POLL_S = 0.03
TAIL_LINES = 12
MOST_LOG = 4 << 20
"""Bytes of a log that goes on; a longer one is put aside as daemon.log.1."""


def listens(ws: Workspace) -> bool:
    """Whether a daemon takes connections for this workspace."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(os.fspath(ws.socket))
        except OSError:
            return False
    return True


def released(lock: Path) -> bool:
    """Whether no daemon holds the workspace any more: only then may the next one start."""
    try:
        with lock.open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except FileNotFoundError:  # somebody has removed .kpd, and the lock with it
        return True
    return True


def ensure_daemon(ws: Workspace) -> bool:
    """Start a daemon unless one listens; whether it had to be started. Raises CliError as `start_daemon` does."""
    if listens(ws):
        return False
    start_daemon(ws)
    return True


def start_daemon(ws: Workspace) -> None:
    """Start a daemon in a session of its own and return once it, or one started elsewhere at the same time, listens.

    Raises CliError with the log's tail told.
    """
    ws.make_private()
    if ws.log.exists() and ws.log.stat().st_size > MOST_LOG:
        ws.log.replace(f"{ws.log}.1")
    with ws.log.open("ab") as log:
        begun = log.tell()
        # Its working folder is the workspace: what lies there is not to be imported, by the daemon or its children.
        # PYTHONPATH finds kpd where this process did.
        home = str(Path(kpd.__file__).resolve().parent.parent)
        paths = [home, *filter(None, [os.environ.get("PYTHONPATH")])]
        child = subprocess.Popen(
            [sys.executable, "-m", "kpd.cli.main", "-w", str(ws.root), "daemon"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=ws.root,
            env={**os.environ, "PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,
        )
    deadline = time.monotonic() + READY_WITHIN_S
    while not listens(ws):
        code = child.poll()
        if code is not None and released(ws.lock) and not listens(ws):
            _tell_tail(ws, begun)
            raise CliError(f"the daemon ended at once with code {code}", f"its log is {ws.log}", INFRA)
        if time.monotonic() > deadline:
            _tell_tail(ws, begun)
            message = f"the daemon (process {child.pid}) does not listen after {READY_WITHIN_S:g} s"
            raise CliError(message, f"its log is {ws.log}", INFRA)
        time.sleep(POLL_S)


def _tell_tail(ws: Workspace, begun: int) -> None:
    with ws.log.open("rb") as log:
        log.seek(begun)
        lines = log.read().decode(errors="replace").splitlines()
    for text in lines[-TAIL_LINES:]:
        narrate(f"  {plain(text)}")
