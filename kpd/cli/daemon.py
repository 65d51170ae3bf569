"""kpd daemon and kpd shutdown: run the daemon in the foreground, start it in the background, and end it."""

import fcntl
import os
import socket
import subprocess
import sys
import time
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from pathlib import Path
from typing import Any

import kpd
from kpd.cli.ask import command, workspace
from kpd.cli.exit_codes import FAILED, INFRA, OK, USAGE, CliError
from kpd.cli.terminal_text import line, narrate
from kpd.client import hello
from kpd.text.foreign import visible
from kpd.wire import NoDaemon
from kpd.workspace.disk import is_full
from kpd.workspace.locks import try_lock
from kpd.workspace.paths import Workspace


def daemon_arguments(parser: ArgumentParser) -> None:
    """Add nothing: this verb has no options of its own."""


def daemon(args: Namespace) -> int:
    return serve(workspace(args))


def serve(ws: Workspace) -> int:
    """Run the daemon in this process until it is told to end. Raises CliError, WorkspaceError."""
    import asyncio
    import logging

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


READY_WITHIN_S = 30.0
TAIL_LINES = 12
MOST_LOG = 4 << 20
"""A log of more bytes is renamed to daemon.log.1 before the daemon starts."""


def listens(ws: Workspace) -> bool:
    """Return whether a daemon answers for this workspace; one that is stopped, and keeps its socket, is there too.

    That of a process just killed still accepts connections for a moment, and ends them.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(os.fspath(ws.socket))
            probe.sendall(hello("cli"))
            return bool(probe.recv(4096))  # all of its answer: to leave some would reset the connection
        except TimeoutError:
            return True
        except OSError:
            return False


def released(lock: Path) -> bool:
    """Return whether no daemon holds the workspace's lock any more: only then may the next one start."""
    try:
        with lock.open("rb") as held:
            return try_lock(held, fcntl.LOCK_SH)
    except FileNotFoundError:  # somebody has removed .kpd, and the lock with it
        return True


def ensure_daemon(ws: Workspace) -> bool:
    """Start a daemon unless one listens, and return whether one was started. Raises CliError as `start_daemon` does."""
    if listens(ws):
        return False
    start_daemon(ws)
    return True


def start_daemon(ws: Workspace) -> None:
    """Start a daemon in a session of its own, and return once it listens, or one that was started elsewhere meanwhile.

    Raises CliError after printing the end of the log.
    """
    ws.make_private()
    if ws.log.exists() and ws.log.stat().st_size > MOST_LOG:
        ws.log.replace(f"{ws.log}.1")
    with ws.log.open("ab") as log:
        begun = log.tell()
        # Its working folder is the workspace: Python files there must not be imported, by the daemon or its children.
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
            if is_full(ws.private):  # nor could it log that
                raise CliError(f"the daemon did not start: the disk of {ws.private} is full", "free some space", INFRA)
            raise CliError(
                f"the daemon did not start: it ended with code {code}",
                f"its log is {ws.log}",
                USAGE if code == USAGE else INFRA,
            )
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
        narrate(f"  {visible(text)}")


GONE_WITHIN_S = 30.0
STEP_WITHIN_S = 600.0
"""How long this command waits for steps to end. The daemon itself waits as long as they take."""
POLL_S = 0.02


def shutdown_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--now", action="store_true", help="cut the steps under way; they are begun again after resume")


def shutdown(args: Namespace) -> int:
    ws = workspace(args)
    answer = _ask_for_end(ws, args.now)
    if answer is None:
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


def _ask_for_end(ws: Workspace, now: bool) -> dict[str, Any] | None:
    """Ask the daemon to end, and return its answer; None where none runs.

    One that does not listen yet, or no longer, is waited for. Raises CliError, DaemonError.
    """
    deadline = time.monotonic() + READY_WITHIN_S
    while True:
        with suppress(NoDaemon):
            answer: dict[str, Any] = command(ws, "shutdown", now=now or None)
            return answer
        if released(ws.lock):
            return None
        if time.monotonic() > deadline:
            has = f"a daemon has {ws.root} (see {ws.lock} for its process)"
            message = f"{has}, but nothing has listened at {ws.socket} for {READY_WITHIN_S:g} s"
            raise CliError(message, f"see {ws.log}; if that process hangs, kill it, then kpd start", INFRA)
        time.sleep(POLL_S)


def end_orphan(ws: Workspace) -> None:
    """End a daemon that still runs for a workspace that no longer exists. Raises CliError, DaemonError."""
    if not released(ws.lock):  # another command has made the workspace anew meanwhile, and started this one
        return
    with suppress(NoDaemon):
        answer = command(ws, "shutdown", now=True)
        _wait_for_end(ws, answer.get("pid"), time.monotonic() + GONE_WITHIN_S)
        narrate(f"ended the daemon of the former {ws.root}")


def _wait_for_release(ws: Workspace, deadline: float) -> None:
    """Wait until the next daemon may start. Raises CliError."""
    while not released(ws.lock):
        if time.monotonic() > deadline:
            raise CliError(
                "the daemon has not ended yet", f"kpd shutdown --now cuts it short; its log is {ws.log}", INFRA
            )
        time.sleep(POLL_S)


def _wait_for_end(ws: Workspace, pid: int | None, deadline: float) -> None:
    """Wait until the process is gone: one with a hanging thread no longer holds the lock. Raises CliError."""
    from kpd.hosts.processes import exists  # only the end of a daemon needs it

    while pid is not None and exists(pid):
        if time.monotonic() > deadline:
            raise CliError(
                f"the daemon has let go of the workspace, but something in its process {pid} hangs",
                f"kill -9 {pid} ends it, and nothing is lost; its log is {ws.log}",
                INFRA,
            )
        time.sleep(POLL_S)
