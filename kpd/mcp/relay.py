"""Stands between an agent and the server of a tool that agents have built, and reports each call: never its values.

It needs nothing but Python, as it starts with every session. All messages pass unchanged.
"""

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import IO, Any

from kpd.wire import DaemonError

LISTING = "tools/list"
CALLING = "tools/call"
GRACE_S = 5.0
"""Seconds for the server to end after its stdin has, and for the last reports."""
MOST_PENDING = 1000
MOST_NAMES = 50
LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class CallReport:
    """A call as it is reported: the sizes in bytes of its arguments by name, and of its result."""

    tool: str
    ok: bool
    ms: float
    arguments: dict[str, int]
    result: int


class Relay:
    """The calls under way, by the id of their request."""

    def __init__(self, report: Callable[[CallReport], None]) -> None:
        self._report = report
        self._pending: dict[object, tuple[str, dict[str, int], float]] = {}

    def asked(self, line: bytes) -> None:
        """Take in a message of the agent."""
        message = _parsed(line)
        method, given = message.get("method"), message.get("params")
        params = given if isinstance(given, dict) else {}
        if method not in (LISTING, CALLING) or len(self._pending) >= MOST_PENDING:
            return
        tool = str(params.get("name"))[:LONGEST_NAME] if method == CALLING else LISTING
        found = params.get("arguments") if method == CALLING else {}
        arguments = list(found.items())[:MOST_NAMES] if isinstance(found, dict) else []
        sizes = {str(name)[:LONGEST_NAME]: _size(value) for name, value in arguments}
        self._pending[_key(message)] = tool, sizes, time.monotonic()

    def answered(self, line: bytes) -> None:
        """Take in a message of the server."""
        if not self._pending:
            return
        message = _parsed(line)
        if "method" in message or (known := self._pending.pop(_key(message), None)) is None:
            return
        tool, sizes, begun = known
        result = message.get("result")
        ok = isinstance(result, dict) and not result.get("isError")
        self._report(CallReport(tool, ok, 1000 * (time.monotonic() - begun), sizes, len(line)))

    def ended(self) -> None:
        """Report the calls that nobody has answered: the server has ended, or the agent did not wait."""
        for key in list(self._pending):  # a copy: the agent may go on asking in another thread
            if (known := self._pending.pop(key, None)) is not None:
                tool, sizes, begun = known
                self._report(CallReport(tool, False, 1000 * (time.monotonic() - begun), sizes, 0))


def relay(argv: Sequence[str], env: Mapping[str, str], tell: Callable[[dict[str, Any]], object]) -> int:
    """Start a server and pass all messages between it and this process's pipes; return its exit status.

    The server gets `env` and no other variables. It is ended when it goes on GRACE_S after the agent's last message.
    `tell` gets each call; it may block, and raises DaemonError. Raises OSError where the server cannot be started.
    """
    reports: queue.SimpleQueue[CallReport | None] = queue.SimpleQueue()
    passing = Relay(reports.put)
    server = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(env))
    assert server.stdin is not None and server.stdout is not None
    teller = threading.Thread(target=_tell, args=(reports, tell), daemon=True)
    teller.start()
    threading.Thread(target=_ask, args=(server, server.stdin, passing.asked), daemon=True).start()
    answering = (server.stdout, sys.stdout.buffer, passing.answered)
    answers = threading.Thread(target=_forward, args=answering, daemon=True)
    answers.start()
    status = server.wait()
    answers.join(GRACE_S)
    passing.ended()
    reports.put(None)
    teller.join(GRACE_S)
    return status


def _ask(server: "subprocess.Popen[bytes]", target: IO[bytes], hear: Callable[[bytes], None]) -> None:
    """Pass on what the agent says, and end a server that goes on afterwards."""
    _forward(sys.stdin.buffer, target, hear)
    try:
        server.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        server.kill()


def _forward(source: IO[bytes], target: IO[bytes], hear: Callable[[bytes], None]) -> None:
    """Pass on each line, and close the other end after the last."""
    try:
        for line in source:
            hear(line)
            target.write(line)
            target.flush()
        target.close()
    except BrokenPipeError:  # the other end has gone first
        return


def _tell(reports: "queue.SimpleQueue[CallReport | None]", tell: Callable[[dict[str, Any]], object]) -> None:
    while (found := reports.get()) is not None:
        try:
            tell(asdict(found))
        except DaemonError as err:
            sys.stderr.write(f"kpd: a call of {found.tool} was not recorded: {err}\n")


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _size(value: object) -> int:
    try:
        return len(json.dumps(value))
    except RecursionError:  # it was read just below the limit
        return 0


def _key(message: dict[str, Any]) -> object:
    found = message.get("id")
    return found if isinstance(found, str | int) else None
