"""Defines the protocol of the daemon's socket. The messages themselves are in kpd.messages.

One JSON object a line, UTF-8. The client speaks first, and its first line is a `hello`:

    {"id": 1, "op": "hello", "protocol": 1, "version": "0.1.0", "client": "tui", "read_only": false, "by": "ada@laptop"}
    {"id": 2, "op": "subscribe", "after": 120, "live": "full"}
    {"id": 3, "op": "query", "what": "show", "args": {"iteration": "r3.7"}}
    {"id": 4, "op": "command", "verb": "pause", "args": {}}

Only `protocol` of hello and `id` are needed; what a daemon does not know, it ignores. `by` is who the facts of this
connection's commands are put down to (without it, the client's name), as `clean_name` leaves it. To a `read_only`
connection every command is refused. `live` is how much output comes: "full", "brief" (of each stream the last line
every BRIEF_S, for thin lines), or "none".

Each is answered by {"id": n, "ok": true, "result": …} or {"id": n, "ok": false, "error": {code, message, remedy}}, a
command after its effect. An error with id null concerns the connection, which ends with it. A subscriber also gets

    {"snapshot": State}                                first, unless `after` is recent: then the events since
    {"event": {"seq", "at", "kind", "body"}}           every one, in order
    {"live": {"channel", "run", "iteration", "text"}}  as far as it keeps up
    {"dropped": n}                                     before the next live message, when n were left out
    {"beat": seq}                                      every HEARTBEAT_S while nothing else waits to be sent

The daemon's lines are written without blanks and begin with the key that says what they are.

This module imports next to nothing, so that a command-line verb can ask the daemon a question at little cost.
"""

from typing import Literal

PROTOCOL = 1
MAX_REQUEST = 256 * 1024  # bytes of a client's line
HEARTBEAT_S = 2.0
SILENCE_S = 3 * HEARTBEAT_S  # seconds after which a client assumes that its daemon hangs

BRIEF_S = 2.0  # seconds between two lines of one stream of brief output
MOST_NAME = 64  # characters of an operator's name

DAEMON_LOG = "daemon"
"""The channel of live output, of no run, on which the daemon says that there is one more line in its own log."""

LiveOutput = Literal["full", "brief", "none"]

# protocol: not a message of this protocol · usage: a wrong argument · unknown: no such thing · refused: not now, not
# by you · infra: a disk, a host, a lost connection · internal: a defect of kpd · no_daemon: nobody listens ·
# no_command: no command has that verb · no_file: the iteration has no file of that name
ErrorCode = Literal[
    "protocol", "usage", "unknown", "refused", "infra", "internal", "no_daemon", "no_command", "no_file"
]  # fmt: skip


def clean_name(text: str) -> str:
    """Return an operator's or a client's name made safe for one line; empty if nothing is left, or it is "kpd".

    Letters, digits and ._@:/+- stay: no markup, no control characters, and no characters that combine or reorder text.
    """
    kept = "".join(char if char.isalnum() or char in "._@:/+-" else " " for char in text[: 4 * MOST_NAME])
    name = " ".join(kept.split())[:MOST_NAME].strip()
    return "" if name.lower() == "kpd" else name


class DaemonError(Exception):
    """The error that the daemon refuses a request, or cannot be reached; `remedy` says what to do about it."""

    def __init__(self, code: ErrorCode, message: str, remedy: str = "") -> None:
        super().__init__(f"{message}; {remedy}" if remedy else message)
        self.code: ErrorCode = code
        self.message = message
        self.remedy = remedy


class NoDaemon(DaemonError):
    """The error that nobody listens at the workspace's socket."""

    def __init__(self, message: str = "no daemon runs for this workspace") -> None:
        super().__init__("no_daemon", message, "kpd start, or kpd daemon to keep it in the foreground")
