"""Sends one request to the daemon, for command-line verbs. Imports neither asyncio nor the model, so it starts fast.

To follow what happens, use kpd.subscription.
"""

import contextlib
import json
import os
import socket
from pathlib import Path
from typing import Any, BinaryIO, Literal

from kpd import __version__
from kpd.wire import MAX_REQUEST, PROTOCOL, DaemonError, NoDaemon, clean_name

__all__ = ["DaemonError", "NoDaemon", "ask", "hello", "operator", "own_socket"]


def ask(
    path: Path,
    kind: Literal["query", "command"],
    name: str,
    args: dict[str, Any] | None = None,
    client: str = "cli",
    timeout: float = 60.0,
    by: str = "",
) -> Any:
    """Send one query or command to the daemon and return its answer; a command's answer comes after its effect.

    `by` is the person that all others see as its author; without it, that is `client`. Waits at most `timeout` seconds
    for each line. Raises NoDaemon when nobody listens at `path`, DaemonError for everything else that goes wrong.
    """
    own_socket(path)
    key = "what" if kind == "query" else "verb"
    request = {"op": kind, "id": 2, key: name, "args": args or {}}
    try:
        line = json.dumps(request, allow_nan=False, ensure_ascii=False).encode()
    except UnicodeEncodeError as err:
        raise DaemonError("usage", f"{name}: an argument is not UTF-8 text") from err
    except ValueError as err:
        raise DaemonError("usage", f"{name}: an argument is not a finite number") from err
    if len(line) >= MAX_REQUEST:
        raise DaemonError("usage", f"too long: a message may have {MAX_REQUEST} bytes at most")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout)
        try:
            connection.connect(os.fspath(path))
        except (FileNotFoundError, ConnectionRefusedError) as err:
            raise NoDaemon() from err
        except OSError as err:
            raise DaemonError("infra", f"cannot reach the daemon at {path}: {err}") from err
        lines = connection.makefile("rb")
        try:
            with contextlib.suppress(BrokenPipeError):  # the daemon has refused already: its reason can be read
                connection.sendall(hello(client, by) + line + b"\n")
            _result(lines)
            return _result(lines)
        except TimeoutError as err:
            message = f"the daemon has not answered {name} within {timeout:g} s"
            if kind == "command":  # it may still be at work: a full profile waits for its device
                remedy = "what was asked for may be done all the same: kpd status shows what is under way"
            else:
                remedy = (
                    "it may be stopped, or its disk may hang; a daemon that is killed and started again loses no run"
                )
            raise DaemonError("infra", message, remedy) from err
        except OSError as err:
            raise DaemonError("infra", f"the connection to the daemon was lost: {err}") from err


def hello(client: str, by: str = "") -> bytes:
    """Return the line with which a connection begins."""
    said = {"op": "hello", "id": 1, "protocol": PROTOCOL, "version": __version__, "client": client, "by": by}
    return json.dumps(said).encode() + b"\n"


def operator() -> str:
    """Return the name of the person at this terminal: $KPD_OPERATOR, else one such as ada@laptop:pts/3."""
    if chosen := clean_name(os.environ.get("KPD_OPERATOR", "")):
        return chosen
    terminal = ""
    for stream in (0, 1, 2):
        with contextlib.suppress(OSError):  # a pipe, a file, or closed
            terminal = f":{os.ttyname(stream).removeprefix('/dev/')}"
            break
    return clean_name(f"{user_name()}@{socket.gethostname().partition('.')[0]}{terminal}")


def user_name() -> str:
    """Return the name of who runs this; the number where there is none."""
    import getpass

    try:
        return os.environ.get("USER") or getpass.getuser()
    except (KeyError, OSError):  # a container's user often has no entry in passwd
        return str(os.getuid())


def _name_of(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"number {uid}"


def own_socket(path: Path) -> None:
    """Check that the socket belongs to this user. Raises NoDaemon when there is none, else DaemonError."""
    try:
        owner = os.lstat(path).st_uid
    except FileNotFoundError as err:
        raise NoDaemon() from err
    except OSError as err:
        raise DaemonError("infra", f"cannot look at {path}: {err.strerror}") from err
    if owner != os.getuid():
        name = _name_of(owner)
        raise DaemonError("refused", f"{path} belongs to another user ({name})", "run kpd as that user, or remove it")


def _result(lines: BinaryIO) -> Any:
    line = lines.readline()
    if not line.endswith(b"\n"):
        raise DaemonError("infra", "the daemon has ended the connection", "kpd status shows whether it still runs")
    try:
        reply = json.loads(line)
        if reply["ok"] is True:
            return reply.get("result")
        error = reply["error"]
        refusal = DaemonError(error["code"], str(error["message"]), str(error.get("remedy", "")))
    except (ValueError, KeyError, TypeError, AttributeError) as err:
        raise DaemonError("protocol", "the daemon's answer cannot be understood", "use one version of kpd") from err
    raise refusal
