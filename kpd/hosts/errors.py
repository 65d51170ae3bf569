"""Defines the errors of hosts. They are never the candidate's fault, so they never become a verdict."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal, cast, get_args

from kpd.model.waits import ForAllocation, HostTrouble

HostErrorKind = Literal[
    "unreachable",  # no link: nobody answers, the network is down, or the link was closed
    "auth",  # the host refuses the login
    "host_key",  # the host's key is unknown, or not the one that is known
    "no_python",  # the host has no python3 that starts, or one that is too old
    "config",  # ssh's own configuration, or the host's table in config.toml, cannot be used
    "no_compiler",  # the host has no compiler for the task's language
    "helper_died",  # the link was up and broke
    "pending",  # the host is asked for, and will be there later: see `Pending`
    "released",  # nobody has asked for the host: it is there for a while only
    "no_space",  # the host's disk or quota is full
    "refused",  # a path, id or value that no request may carry
    "not_found",  # the file does not exist
    "corrupt",  # content that does not hash to its name
    "stale",  # a file is not what was built, and no job that is asked about has changed it
    "too_large",  # more than the caller's limit, or than one message carries
    "running",  # the job still runs
    "busy",  # the device is used by others so much that nothing can be measured
    "host",  # anything else that the host's system refused
]

REMEDIES: dict[HostErrorKind, str] = {
    "unreachable": "check the network and that the host is up; kpd keeps trying",
    "auth": "check the user and the key with `ssh -v`; is the key in the agent?",
    "host_key": "compare the fingerprint, then `kpd hosts trust` it",
    "no_python": "install python3 (3.6 or later) on the host",
    "config": "correct ~/.ssh/config or config.toml",
    "no_compiler": "install gcc or clang on the host",
    "helper_died": "kpd connects again; jobs on the host go on meanwhile",
    "pending": "kpd waits for it",
    "released": "kpd asks for it when a run needs it",
    "no_space": "free disk space on the host, then resume",
    "refused": "use ids of letters, digits, '.', '_' and '-', and plain relative paths",
    "not_found": "check that its folder is there and is the right one; resume makes a run's files there again",
    "corrupt": "send the content again",
    "stale": "resume to build it again, and find out who else writes there: a candidate can, if nothing confines jobs",
    "too_large": "ask for less at a time",
    "running": "kill the job, or wait for its end",
    "busy": "end other work on the device",
    "host": "check the host's disk and permissions",
}


LOST: frozenset[HostErrorKind] = frozenset({"unreachable", "helper_died", "pending", "released"})
"""Errors that may pass with time: kpd tries again soon. After others it tries seldom or never: most need a person."""
LOST_BUILDS: frozenset[HostErrorKind] = frozenset({"not_found", "stale", "corrupt"})
"""Errors with what was built on the host: it can be built again."""

CLOSED = re.compile(r"System is (booting up|going down)|NO LOGINS: System going down")
"""What a host says that refuses all logins for a while: systemd's words in /run/nologin, and BSD's."""

PENDING_S = 15.0  # between two looks at a scheduler's queue


class HostError(Exception):
    """An error on or with a host (`kind`, `message`), and what a person can do about it (`remedy`).

    `again_s` is after how many seconds connecting is tried again, where that does not follow from the kind.
    """

    again_s: float | None = None

    def __init__(self, kind: HostErrorKind, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.kind: HostErrorKind = kind
        self.message = message
        self.remedy = remedy or REMEDIES[kind]

    def __str__(self) -> str:
        return f"{self.message}; {self.remedy}"

    @property
    def fact(self) -> HostTrouble:
        """The same as data, for the log."""
        return HostTrouble(self.kind, self.message, self.remedy)

    @property
    def wait(self) -> HostTrouble | ForAllocation:
        """What a run waits for while this error keeps it."""
        return self.fact

    def again(self) -> "HostError":
        """Copy the error, to raise it in another task: one exception raised in many would collect their tracebacks."""
        return HostError(self.kind, self.message, self.remedy)


class Pending(HostError):
    """An allocation that is asked for, and has not begun."""

    again_s = PENDING_S

    def __init__(self, message: str, waits: ForAllocation) -> None:
        super().__init__("pending", message)
        self.waits = waits

    @property
    def wait(self) -> ForAllocation:
        return self.waits

    def again(self) -> "Pending":
        return Pending(self.message, self.waits)


class InVain(HostError):
    """Allocations that end before anything could be done in them: each is followed by a longer pause."""

    def __init__(self, message: str, remedy: str, again_s: float) -> None:
        super().__init__("host", message, remedy)
        self.again_s = again_s

    def again(self) -> "InVain":
        return InVain(self.message, self.remedy, self.again_s or 0.0)


class LostBuild(HostError):
    """The file at `path`, which the job `built` has left on a host, is gone or is not what was built."""

    def __init__(self, kind: Literal["not_found", "stale", "corrupt"], host: str, path: str, job: str = "") -> None:
        needed = f"job {job} needs a file that is gone: {path}"
        message = needed if kind == "not_found" else f"{path} is not what was built"
        super().__init__(kind, f"{host}: {message}", REMEDIES["not_found" if kind == "not_found" else "stale"])
        self.path = path

    @property
    def built(self) -> str:
        parts = PurePosixPath(self.path).parts
        return parts[parts.index("jobs") + 1] if "jobs" in parts[:-1] else ""


@dataclass(frozen=True, slots=True)
class HostKey:
    """A key that a host has presented.

    `host` is its name in known_hosts, `key` the public key as "type base64", `fingerprint` its SHA256.
    """

    host: str
    key: str
    fingerprint: str


class UnknownHostKey(HostError):
    """A host key, `offered`, that nobody has confirmed yet."""

    def __init__(self, message: str, offered: HostKey, remedy: str = "") -> None:
        super().__init__("host_key", message, remedy)
        self.offered = offered


def passes(status: int | None, words: str) -> bool:
    """Return whether a failed start on a host may succeed later without a person's help.

    `status` is the exit status as a shell gives it: over 128 for a signal, 255 for an ssh that lost its connection, 254
    for a login while the host is down; negative for a signal on this machine, None if it is unknown. What the host
    lacks is reported with a lower status. `words` is the end of stderr.
    """
    return status is None or not 0 <= status <= 128 or CLOSED.search(words) is not None


def from_helper(host: str, kind: object, message: object) -> HostError:
    """Make a HostError of the helper's error reply; a kind that this side does not know becomes `host`."""
    known = cast(HostErrorKind, kind) if kind in get_args(HostErrorKind) else "host"
    return HostError(known, f"{host}: {message}")
