"""Encodes and decodes the messages of the socket; kpd.wire describes them."""

from dataclasses import dataclass, field
from typing import Any, Literal

from kpd.model import codec
from kpd.model.events import Event
from kpd.model.state import State
from kpd.wire import PROTOCOL, DaemonError, ErrorCode, LiveOutput

# ── client to daemon ──────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Hello:
    id: int
    protocol: int
    version: str = "?"
    client: str = "?"
    read_only: bool = False
    by: str = ""


@dataclass(frozen=True, slots=True)
class Subscribe:
    id: int
    after: int = 0
    live: LiveOutput = "full"


@dataclass(frozen=True, slots=True)
class Query:
    id: int
    what: str
    args: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Command:
    id: int
    verb: str
    args: dict[str, Any] = field(default_factory=dict)


Request = Hello | Subscribe | Query | Command


@dataclass(frozen=True, slots=True)
class _Op:
    op: Literal["hello", "subscribe", "query", "command"]


_REQUESTS: dict[str, type[Request]] = {"hello": Hello, "subscribe": Subscribe, "query": Query, "command": Command}


def request(line: bytes) -> Request:
    """Parse and check a line from a client. Raises DaemonError (protocol)."""
    try:
        return codec.decode(line, _REQUESTS[codec.decode(line, _Op).op])
    except codec.CodecError as err:
        raise DaemonError("protocol", f"not a message of kpd's protocol: {err}") from err


def request_line(message: Request) -> bytes:
    op = next(op for op, kind in _REQUESTS.items() if isinstance(message, kind))
    return b'{"op":"%s",' % op.encode() + codec.encode(message)[1:] + b"\n"


# ── daemon to client ──────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Welcome:
    """The answer to `hello`: who the daemon is, and how far its log goes."""

    version: str
    workspace: str
    pid: int
    read_only: bool
    seq: int
    protocol: int = PROTOCOL


@dataclass(frozen=True, slots=True)
class ErrorReply:
    code: ErrorCode
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a request; its `id` is None when the connection as a whole has failed."""

    id: int | None
    ok: bool
    result: Any = None
    error: ErrorReply | None = None

    def value(self) -> Any:
        """Return the result. Raises DaemonError when the reply is an error."""
        if self.ok:
            return self.result
        fault = self.error or ErrorReply("protocol", "the daemon sent an error without a reason")
        raise DaemonError(fault.code, fault.message, fault.remedy)


@dataclass(frozen=True, slots=True)
class Live:
    """Output as it happens: `channel` is "build", "agent", …; it is not stored, and slow clients may miss some."""

    channel: str
    run: str
    iteration: int
    text: str


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The sign that the daemon lives; its newest event is `seq`."""

    seq: int


@dataclass(frozen=True, slots=True)
class Dropped:
    """The number of live messages that were left out."""

    count: int


Push = State | Event | Live | Heartbeat | Dropped


def reply_line(id: int, result: Any) -> bytes:
    """Encode a successful reply as a line. Raises TypeError when `result` cannot be written as JSON."""
    return codec.encode({"id": id, "ok": True, "result": result}) + b"\n"


def error_line(id: int | None, error: DaemonError) -> bytes:
    fault = ErrorReply(error.code, error.message, error.remedy)
    return codec.encode({"id": id, "ok": False, "error": fault}) + b"\n"


def push_line(message: Push) -> bytes:
    match message:
        case Event():
            return b'{"event":' + codec.event_to_json(message) + b"}\n"
        case State():
            return b'{"snapshot":' + codec.encode(message) + b"}\n"
        case Live():
            return b'{"live":' + codec.encode(message) + b"}\n"
        case Heartbeat():
            return b'{"beat":%d}\n' % message.seq
        case Dropped():
            return b'{"dropped":%d}\n' % message.count


def received(line: bytes) -> Reply | Push:
    """Parse and check a line from the daemon. Raises DaemonError (protocol)."""
    kind = line[2 : line.find(b'"', 2)]
    body = line[len(kind) + 4 : -2]
    try:
        match kind:
            case b"event":
                return codec.event_from_json(body)
            case b"live":
                return codec.decode(body, Live)
            case b"beat":
                return Heartbeat(codec.decode(body, int))
            case b"snapshot":
                return codec.decode(body, State)
            case b"dropped":
                return Dropped(codec.decode(body, int))
            case _:
                return codec.decode(line, Reply)
    except codec.CodecError as err:
        raise DaemonError(
            "protocol", f"the daemon sent what is not a message: {err}", "use one version of kpd"
        ) from err
