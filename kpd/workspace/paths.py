"""Knows the paths of a workspace, and checks that a path stays inside a folder."""

import contextlib
import hashlib
import os
import re
import secrets
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

# A unix socket's path must fit into sockaddr_un: 104 bytes on macOS, 108 on Linux, with the closing zero.
SOCKET_PATH_BYTES = 100


FIRST = "workspace"
"""The name of the workspace that a first run makes."""


class WorkspaceError(Exception):
    """The error that something on disk is not as it should be. `remedy` says what to do about it."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(f"{message}; {remedy}" if remedy else message)
        self.message = message
        self.remedy = remedy


class NoWorkspace(WorkspaceError):
    """The error that no workspace was found."""


def expanded(path: str | Path) -> Path:
    """Return `path` with a leading ~ or ~user replaced by that home. Raises WorkspaceError for an unknown user."""
    try:
        return Path(path).expanduser()
    except RuntimeError as err:
        who = Path(path).parts[0]
        raise WorkspaceError(f"{path}: this machine has no home {who}", "write the path in full") from err


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder with config.toml, tasks/, skills/, memory/ and runs/; `root` is absolute and free of links."""

    root: Path

    @classmethod
    def find(cls, start: Path | None = None) -> "Workspace":
        """Find the workspace at `start`, in ./workspace there, or in the nearest folder above it.

        Without `start` the search begins at $KPD_WORKSPACE, else in the current folder. Raises NoWorkspace when there
        is none.
        """
        origin = expanded(start or os.environ.get("KPD_WORKSPACE") or Path.cwd())
        if not origin.is_dir():
            raise NoWorkspace(f"{origin} is not a folder", f"kpd init {origin} makes a workspace there")
        resolved = origin.resolve()
        for folder in (resolved, *resolved.parents):
            if is_workspace(folder):
                return cls(folder)
            if _own(folder / FIRST) and is_workspace(folder / FIRST):
                return cls((folder / FIRST).resolve())
        raise NoWorkspace(
            f"no workspace at {origin} or above it",
            "kpd start makes one in ./workspace, kpd init DIR where you like, -w DIR or $KPD_WORKSPACE names another",
        )

    @classmethod
    def first(cls) -> "Workspace":
        """Return the workspace that a first run makes: ./workspace, or workspace/ at the top of kpd's source tree."""
        here = Path.cwd().resolve()
        return cls(next((folder for folder in (here, *here.parents) if is_source(folder)), here) / FIRST)

    @property
    def config(self) -> Path:
        return self.root / "config.toml"

    @property
    def tasks(self) -> Path:
        return self.root / "tasks"

    @property
    def skills(self) -> Path:
        return self.root / "skills"

    @property
    def memory(self) -> Path:
        return self.root / "memory"

    @property
    def deployments(self) -> Path:
        """A folder for each project."""
        return self.root / "deployments"

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    @property
    def private(self) -> Path:
        return self.root / ".kpd"

    @property
    def store(self) -> Path:
        return self.private / "events.db"

    @property
    def log(self) -> Path:
        return self.private / "daemon.log"

    @property
    def lock(self) -> Path:
        return self.private / "daemon.lock"

    @property
    def host_root(self) -> Path:
        """The folder of the local host's jobs and content store."""
        return self.private / "host"

    @property
    def rooms(self) -> Path:
        """The folder in which tools that agents have built are checked."""
        return self.private / "rooms"

    def run_folder(self, task: str, run: str) -> Path:
        return self.runs / task / run

    def start_folder(self, task: str, comparison: str) -> Path:
        """Return the copy of a task from which all runs of a comparison start."""
        return self.run_folder(task, comparison) / "task" / task

    def iteration_folder(self, task: str, run: str, number: int) -> Path:
        return self.run_folder(task, run) / f"iter_{number:04d}"

    @property
    def socket(self) -> Path:
        """The path of the socket on which the daemon listens: the one that it has noted, if that is still there.

        The folder depends on the environment, and a client's may be another than its daemon's: that of cron, say.
        Without a note it is the path that a daemon would use here; its folder may not exist yet. Raises WorkspaceError
        when the folder exists but others could have put a socket into it.
        """
        with contextlib.suppress(OSError, ValueError):
            noted = Path(self.socket_note.read_text())
            if noted.is_absolute() and noted.name == self._socket_name:  # else the workspace is a copy of another
                if noted.lstat().st_uid == os.getuid():
                    _check_own(noted.parent)
                return noted  # a client of another user is told whose it is
        return self._own_socket

    @property
    def socket_note(self) -> Path:
        """The file in which a daemon notes the path of its socket."""
        return self.private / "socket"

    @property
    def _socket_name(self) -> str:
        """The name of the daemon's socket, which no other workspace's has."""
        mark = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:8]
        name = re.sub(r"[^A-Za-z0-9._-]", "_", self.root.name)[:24] or "root"
        return f"{name}-{mark}.sock"

    @property
    def _own_socket(self) -> Path:
        socket = _socket_base() / self._socket_name
        if socket.parent.exists():
            _check_own(socket.parent)
        return socket

    def make_socket_folder(self) -> Path:
        """Create the folder of a daemon's socket, for this user alone; return its path. Raises WorkspaceError."""
        socket = self._own_socket
        _make_private(socket.parent)
        return socket

    def identity(self) -> str:
        """Return the workspace's random id of 12 hex digits, which is made once and kept in .kpd/id. Raises OSError.

        It tells this workspace from another one that is later made at the same path, also after a reset.
        """
        self.make_private()
        path = self.private / "id"
        with contextlib.suppress(FileExistsError), path.open("x") as file:  # it may exist already
            file.write(secrets.token_hex(6))
        found = path.read_text().strip()
        return found if re.fullmatch(r"[0-9a-f]{12}", found) else hashlib.sha256(found.encode()).hexdigest()[:12]

    def make_private(self) -> Path:
        """Create .kpd/ for this user alone, and return it. Raises WorkspaceError."""
        _make_private(self.private)
        return self.private


def is_source(folder: Path) -> bool:
    """Return whether `folder` is kpd's own source tree, which is never used as a workspace."""
    return (folder / "config.toml.example").is_file() and (folder / "kpd" / "workspace").is_dir()


def is_workspace(folder: Path) -> bool:
    """Return whether `folder` is a workspace.

    It is one if it has an event log, or has tasks/ beside config.toml or .kpd/: config.toml alone could be another
    program's.
    """
    if is_source(folder):
        return False
    served = (folder / ".kpd" / "events.db").exists()
    return served or ((folder / "tasks").is_dir() and any((folder / mark).exists() for mark in ("config.toml", ".kpd")))


def _own(folder: Path) -> bool:
    """Return whether `folder` is this user's: in a shared folder somebody else could have put a workspace there."""
    try:
        found = folder.stat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()


class OutsideFolder(ValueError):
    """The error that a path is not allowed within a folder; the message says why."""


def inside(folder: Path, relative: str) -> Path:
    """Return the path of the file `relative` (a plain posix path) in `folder`, whether or not it exists.

    Raises OutsideFolder when the path is absolute, leaves the folder, is not in its simplest form, or passes through a
    symbolic link: kpd replaces files by rename, which would put a file in the link's place.
    """
    pure = PurePosixPath(relative)
    if not relative or not relative.isprintable() or "\\" in relative:
        raise OutsideFolder(f"{relative!r} is not a plain path")
    if pure.is_absolute() or relative.startswith("~"):
        raise OutsideFolder(f"{relative!r} is absolute")
    if ".." in pure.parts:
        raise OutsideFolder(f"{relative!r} leaves the folder")
    if str(pure) != relative or relative == ".":
        raise OutsideFolder(f"{relative!r} is not in its simplest form")
    path = folder
    for part in pure.parts:
        path = path / part
        if path.is_symlink():
            where = "leads out of the folder" if _leaves(folder, path) else "is a symbolic link"
            raise OutsideFolder(f"{path.relative_to(folder).as_posix()!r} {where}")
    return path


def _leaves(folder: Path, link: Path) -> bool:
    try:
        return not link.resolve(strict=True).is_relative_to(folder.resolve())
    except (OSError, RuntimeError):
        return True


def _socket_base() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime and Path(runtime).is_absolute() and Path(runtime).is_dir() and _fits(Path(runtime) / "kpd-v1"):
        return Path(runtime) / "kpd-v1"
    return temporary_for_sockets() / f"kpd-v1-{os.getuid()}"


def temporary_for_sockets() -> Path:
    """Return the folder of temporary files, or /tmp where a socket's path below it would be too long."""
    folder = Path(tempfile.gettempdir())
    return folder if _fits(folder / "kpd-v1-4294967295") else Path("/tmp")


def _fits(folder: Path) -> bool:
    longest_name = 24 + len("-01234567.sock")
    return len(os.fsencode(folder)) + 1 + longest_name <= SOCKET_PATH_BYTES


def _make_private(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as err:
        raise WorkspaceError(
            f"cannot create {folder}: {err.strerror}", "check the folder's owner and the disk"
        ) from err
    _check_own(folder)
    if stat.S_IMODE(folder.lstat().st_mode) != 0o700:  # on a read-only file system even the same mode cannot be set
        folder.chmod(0o700)


def _check_own(folder: Path) -> None:
    """Check who owns the folder, and its mode: in a shared temporary folder anybody can take a name first.

    Raises WorkspaceError where it is another user's, no folder, or one that others may write to.
    """
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise WorkspaceError(f"{folder} belongs to somebody else or is not a folder", "remove it, or ask its owner to")
    if stat.S_IMODE(found.st_mode) & 0o022:
        raise WorkspaceError(f"others may write to {folder}", f"check its contents, then chmod 700 {folder}")
