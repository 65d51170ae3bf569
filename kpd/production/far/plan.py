"""Decides what to do with each file of a change that ends without a commit: a pure function of what was seen."""

from typing import NamedTuple

ABSENT = ""
"""Stands for the hash of a file that is not there."""
STRANGE = "strange"
"""Stands for the hash of what is no regular file, or lies behind a symbolic link."""
LINK = "link"
"""Stands for the hash of a symbolic link in the place of the file itself."""


class Entry(NamedTuple):
    """One file of a project: how it was before the change, and what kpd has written since.

    `kind` is "binary" or "file"; `sha` is its hash, `ABSENT` where there was no such file, and `mtime_ns` its time, 0
    where that is not known. `wrote` are the hashes that kpd, or a build under it, has left. While a build runs, or
    after one that was cut off, `building` is set: then a binary may have any content, or be a link. `alike` says that
    the last build has left the same program under another hash (see `disk.same_program`).
    """

    path: str
    kind: str
    sha: str
    mode: int
    uid: int
    gid: int
    wrote: "tuple[str, ...]" = ()
    building: bool = False
    mtime_ns: int = 0
    alike: bool = False


def owned(entry: Entry, seen: str) -> bool:
    """Return whether a file with the hash `seen` is the original, or what kpd has left: nobody else has changed it."""
    if seen == STRANGE:
        return False
    return seen in (entry.sha, *entry.wrote) or (entry.building and entry.kind == "binary")


def step(entry: Entry, seen: str) -> str:
    """Return what restores the file: "same" (nothing to do), "put back", "remove", or "conflict" (leave it alone).

    A binary that somebody has removed is put back: nothing of theirs is lost.
    """
    if seen == entry.sha:
        return "same"
    if not owned(entry, seen) and (entry.kind, seen) != ("binary", ABSENT):
        return "conflict"
    return "put back" if entry.sha != ABSENT else "remove"


def ordered(entries: "list[Entry]") -> "list[Entry]":
    """Return the entries in the order of restoring: binaries first.

    A candidate's source beside the original binary is harmless for a while; the original source beside the candidate's
    binary would look as if nothing had been changed. Sources that come later are also newer than the binaries, so the
    next build builds again.
    """
    return sorted(entries, key=lambda entry: entry.kind != "binary")
