"""Trouble with a host. It is never the candidate's fault, so it is never a verdict."""

from typing import Literal, cast, get_args

HostErrorKind = Literal[
    "unreachable",  # no link: never connected, or closed
    "no_python",  # the host has no python3 that starts
    "no_compiler",  # the host has no compiler for the task's language
    "helper_died",  # the link was up and broke
    "no_space",  # the host's disk or quota is full
    "refused",  # a path, id or value that no request may carry
    "not_found",  # the file does not exist
    "missing_blob",  # a tree names content that was never put
    "corrupt",  # content that does not hash to its name
    "too_large",  # more than the caller's limit, or than one message carries
    "running",  # the job still runs
    "host",  # anything else that the host's system refused
]

REMEDIES: dict[HostErrorKind, str] = {
    "unreachable": "connect to the host first",
    "no_python": "install python3 (3.6 or later) on the host",
    "no_compiler": "install gcc or clang on the host",
    "helper_died": "connect again; jobs on the host go on and can be followed from there",
    "no_space": "free disk space on the host, then resume",
    "refused": "use ids of letters, digits, '.', '_' and '-', and plain relative paths",
    "not_found": "check that the job wrote the file",
    "missing_blob": "put the content first, or use stage",
    "corrupt": "send the content again",
    "too_large": "ask for less at a time",
    "running": "kill the job, or wait for its end",
    "host": "check the host's disk and permissions",
}


class HostError(Exception):
    """What went wrong on or with a host (`kind`, `message`) and what a person can do about it (`remedy`)."""

    def __init__(self, kind: HostErrorKind, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.kind: HostErrorKind = kind
        self.message = message
        self.remedy = remedy or REMEDIES[kind]

    def __str__(self) -> str:
        return f"{self.message}; {self.remedy}"


def from_helper(host: str, kind: object, message: object) -> HostError:
    """An error reply of the helper; a kind that this side does not know counts as `host`."""
    known = cast(HostErrorKind, kind) if kind in get_args(HostErrorKind) else "host"
    return HostError(known, f"{host}: {message}")
