"""Defines what a host tells of a project: its files, and the last change that kpd has made of them."""

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of a change: how it was before, and the hashes that kpd or a build under it has left since.

    An empty hash stands for a file that is not there. While a build runs, `building` is set. `alike`: the last build
    has left the same program, though not the same bytes.
    """

    path: str
    kind: Literal["binary", "file"]
    sha: str
    mode: int
    uid: int
    gid: int
    wrote: tuple[str, ...] = ()
    building: bool = False
    alike: bool = False


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """A change of a project's files, as its host has noted it. Times are Unix times of the host's clock.

    `why` says what ended it if it was restored: "asked", or "lease" when that was over. `conflicts` are files that
    somebody else has changed meanwhile: they were left as they are. `touched` are files that a build has changed and
    may not; None where there were too many to look. A change is "blocked" where somebody else's binary stands beside
    sources that kpd has written: these stay, as the binary may be built of them, until it is restored again.
    """

    id: str
    root: str
    holder: str
    purpose: str
    state: Literal["open", "restoring", "blocked", "restored", "committed"]
    begun: float
    entries: tuple[FileEntry, ...]
    why: str = ""
    ended: float | None = None
    conflicts: tuple[str, ...] = ()
    touched: tuple[str, ...] | None = ()


@dataclass(frozen=True, slots=True)
class PlaceStatus:
    """The last change of a project's files, and the files as they are now; `change` is None where there was none.

    `folder` is where the host keeps the originals. `now` says of each file whether it is the "original", what "kpd" has
    left, or "other". `left_s` are the seconds until the lease is over, `switch` is whether the process lived that
    restores then (looking has started it again), and `trouble` is why it could not.
    """

    folder: str
    change: ChangeRecord | None = None
    now: dict[str, Literal["original", "kpd", "other"]] = field(default_factory=dict)
    left_s: float = 0.0
    switch: bool = False
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of a project as it is: `sha` is empty for a binary that is not there yet. `size` in bytes."""

    path: str
    kind: Literal["binary", "file"]
    sha: str
    size: int


@dataclass(frozen=True, slots=True)
class FoundProject:
    """A project as it lies on its host: the resolved root, its files, and the bytes free on its disk.

    `missing` are the files of its context that cannot be read; `named` says whether a file of it names its kernel.
    """

    root: str
    files: tuple[FoundFile, ...]
    free: int
    missing: tuple[str, ...]
    named: bool


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """One run of a project's command: wall time in ns, exit status (124: it took too long), last words.

    `side` says with which binaries; `outputs` are hashes of what it has written, by path.
    """

    side: str
    ns: int
    rc: int
    said: str
    outputs: dict[str, str]


@dataclass(frozen=True, slots=True)
class ProgramSight:
    """A program as it was at a time: its files by hash, its GPUs, driver and toolkit, and the seconds of some runs.

    Without seconds it is not known how long it runs.
    """

    at: float
    files: dict[str, str]
    gpus: tuple[str, ...]
    driver: str
    cuda: str
    seconds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Drifted:
    """Something of a program that is not what it was. `now` of a file is its hash, empty where it is gone."""

    what: Literal["time", "gpus", "driver", "cuda", "file"]
    before: str
    now: str
    path: str = ""
