"""Locks one device: files shared by every kpd on the host, locked by the kernel as long as their holder lives."""

import contextlib
import errno
import fcntl
import json
import os
import re
import stat
import time
from pathlib import Path

from kpd.hosts.helper.files import RequestRefused
from kpd.hosts.helper.processes import exists, lock_holder, user_name, user_of
from kpd.hosts.helper.wire import Header

SHARED = Path("/tmp/kpd-leases")
OWN = "kpd-leases-"  # begins the name of a folder of one user's locks
READ = 4096  # bytes of a lock's file worth reading
MOST_TOKEN = 1 << 53
LONGEST = 200  # characters of a holder
TRIES = 100  # at opening a file that others make and remove at the same time
SPOILT = (
    errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO, errno.EROFS, errno.ENOLCK,
    errno.EOPNOTSUPP,
)  # fmt: skip
"""Errors of a file that stay: others, such as a full disk, pass."""
ELSEWHERE = "remove it, or name another folder as leases in config.toml"


def lock_path(folder: Path, device: str) -> Path:
    """Return the path of a device's lock. Raises RequestRefused for what is no name of a device."""
    if not re.match(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z", device):
        raise RequestRefused("refused", f"{device!r} is not the name of a device")
    return folder / (device + ".lock")


def own_folder() -> Path:
    """Return the folder of this user's locks, in which nobody else can make one first.

    It is named after the host, as several may share a home.
    """
    return Path("~/.cache").expanduser() / f"{OWN}{os.uname().nodename}"


class Spoilt(RequestRefused):
    """A lock that cannot be used until somebody mends its file or folder."""


def opened(path: Path, make: bool = True) -> "list[Lock]":
    """Open the locks of the device whose lock is `path`, in the order in which they are taken.

    Before a lock in the folder that all users share comes one in this user's own: whatever others do to the first, this
    user's leases exclude each other. A spoilt lock is left out where another is left; without `make`, also a missing
    one. Raises RequestRefused.
    """
    locks = [Lock(path)]
    if path.parent == SHARED:
        with contextlib.suppress(RuntimeError):  # a user without a home
            if Path("~").expanduser().is_dir():
                locks.insert(0, Lock(own_folder() / path.name))
    found, spoilt = [], []  # type: tuple[list[Lock], list[Spoilt]]
    for lock in locks:
        try:
            if make or os.path.lexists(str(lock.path)):
                lock.open()
                found.append(lock)
        except Spoilt as err:
            lock.close()
            spoilt.append(err)
        except RequestRefused:
            for one in (*found, lock):
                one.close()
            raise
    if len(spoilt) == len(locks):
        raise spoilt[-1]
    return found


class Lock:
    """A `flock` on a file. Any user may lock it; only the one who made it writes into it, and only that one reads it.

    It has one JSON line: token, holder, pid, since. The token grows by one with every lease. Every method but `close`
    raises RequestRefused (`host`) when the file cannot be used: Spoilt where that stays so.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.token = 0  # the highest one that this lock has seen
        self.file = -1
        self.ours = False

    def open(self) -> None:
        """Open the file anew; make it, and its folder, where they are missing."""
        self.close()
        mask = os.umask(0)  # every user of the host may use what is made here
        try:
            self.file = self._opened()
            found = os.fstat(self.file)
            if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
                raise refusal(self.path, found, "is not a regular file, so it cannot be a lease")
            self.ours = found.st_uid == os.geteuid()
            if self.ours and stat.S_IMODE(found.st_mode) & 0o022:
                os.fchmod(self.file, 0o644)  # an older kpd let everybody write
        except OSError as err:
            raise self.trouble(err) from err
        finally:
            os.umask(mask)

    def _opened(self) -> int:
        flags = os.O_NOFOLLOW | os.O_NONBLOCK
        for _ in range(TRIES):
            with contextlib.suppress(FileExistsError):
                if self.path.parent.name.startswith(OWN):
                    self.path.parent.parent.mkdir(mode=0o700, exist_ok=True)
                    self.path.parent.mkdir(mode=0o700)
                else:
                    self.path.parent.mkdir(mode=0o1777)
            self._check_folder()
            # Without O_CREAT first: with it, another user's file cannot be opened in a sticky folder.
            with contextlib.suppress(FileNotFoundError):
                try:
                    return os.open(str(self.path), flags | os.O_RDWR)
                except PermissionError:
                    return os.open(str(self.path), flags | os.O_RDONLY)
            with contextlib.suppress(FileExistsError):  # another was first
                return os.open(str(self.path), flags | os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        raise Spoilt("host", f"{self.path} is removed again and again, so it cannot be a lease")

    def _check_folder(self) -> None:
        folder = self.path.parent
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode):
            raise refusal(folder, found, "is not a folder, so it cannot hold leases")
        if found.st_mode & (stat.S_IWOTH | stat.S_ISVTX) == stat.S_IWOTH:
            if found.st_uid != os.geteuid():
                raise refusal(folder, found, "is not sticky (chmod +t), so anybody could replace the leases in it")
            folder.chmod(stat.S_IMODE(found.st_mode) | stat.S_ISVTX)

    def try_take(self) -> bool:
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as err:
            raise self.trouble(err) from err
        return True

    def free(self) -> bool:
        """Return whether nobody has the lock.

        To find out it is taken shared for a moment; who wants it then has to wait that long.
        """
        try:
            fcntl.flock(self.file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            fcntl.flock(self.file, fcntl.LOCK_UN)
        except BlockingIOError:
            return False
        except OSError as err:
            raise self.trouble(err) from err
        return True

    def wait_turn(self) -> None:
        """Wait in the kernel's queue for the lock, in a child that shares it with its parent, and exit."""
        os.closerange(3, self.file)  # most of all the job's `alive`
        os.closerange(self.file + 1, max(256, self.file + 2))
        fcntl.flock(self.file, fcntl.LOCK_EX)
        os._exit(0)

    def replaced(self) -> bool:
        """Return whether the path now leads to another file than the one that is open: others lock that one."""
        try:
            there, ours = self.path.lstat(), os.fstat(self.file)
        except FileNotFoundError:
            return True
        except OSError as err:
            raise self.trouble(err) from err
        return (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino)

    def said(self) -> Header:
        """Read our file: token, holder, pid and since; zeros and an empty holder where it makes no sense."""
        nothing = {"token": 0, "holder": "", "pid": 0, "since": 0.0}
        if not self.ours:
            return nothing
        try:
            line = os.pread(self.file, READ, 0).split(b"\n")[0]
            found = json.loads(line.decode())
            token, pid, since = int(found["token"]), int(found["pid"]), float(found["since"])
            holder = str(found["holder"])[:LONGEST]
        except OSError as err:
            raise self.trouble(err) from err
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            return nothing
        if not (0 <= token < MOST_TOKEN and 0 <= pid < MOST_TOKEN and 0 <= since < MOST_TOKEN):
            return nothing
        self.token = max(self.token, token)
        return {"token": token, "holder": holder, "pid": pid, "since": since}

    def holder(self) -> Header:
        """Return who has the lock: holder, pid and since.

        The holder's own words count only if this user wrote them; of another user's process the pid and the user are
        told, as far as the kernel knows them, and `foreign` is the lock's path.
        """
        said = self.said()
        pid = lock_holder(os.fstat(self.file).st_ino)
        uid = user_of(pid)
        known = said["holder"] and exists(said["pid"])  # who had to wait got the lock by a child, which is gone
        if known and uid in (None, os.geteuid()):
            return {"holder": said["holder"], "pid": said["pid"], "since": said["since"], "foreign": ""}
        foreign = "" if uid == os.geteuid() else str(self.path)
        who = "somebody" if uid is None else f"process {pid} of user {user_name(uid)}"
        return {"holder": who, "pid": 0 if uid is None else pid, "since": 0.0, "foreign": foreign}

    def sign(self, holder: str) -> int:
        """Write into our locked file who holds it now, under a new token, and return the token."""
        self.said()
        self.token += 1
        if not self.ours:
            return self.token
        line = {"token": self.token, "holder": holder[:LONGEST], "pid": os.getpid(), "since": time.time()}
        data = json.dumps(line).encode() + b"\n"
        try:
            if os.pwrite(self.file, data, 0) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.ftruncate(self.file, len(data))
        except OSError as err:
            raise self.trouble(err) from err
        return self.token

    def lost(self) -> str:
        """Return why the lease that was signed is no longer ours alone; empty when it still is."""
        if self.replaced():
            return f"its file was replaced{self.folders_owner()}"
        token = self.token
        now = self.said()["token"]
        return "" if now == token or not self.ours else f"its file says token {now}, not {token}"

    def folders_owner(self) -> str:
        """Name the owner of the folder, who can replace everybody's locks, if it is neither this user nor root."""
        with contextlib.suppress(OSError):
            owner = self.path.parent.lstat().st_uid
            if owner not in (os.geteuid(), 0):
                return f", and {self.path.parent} belongs to user {user_name(owner)}; {ELSEWHERE}"
        return ""

    def close(self) -> None:
        """Release the lock and close the file."""
        if self.file >= 0:
            with contextlib.suppress(OSError):  # closing does the same, unless a child still has the file
                fcntl.flock(self.file, fcntl.LOCK_UN)
            os.close(self.file)
            self.file = -1

    def trouble(self, err: OSError) -> RequestRefused:
        what = f"cannot be used as a lease: {err.strerror}"
        if err.errno not in SPOILT:
            return RequestRefused("host", f"{self.path} {what}")
        for path in (self.path, self.path.parent):
            with contextlib.suppress(OSError):
                found = path.lstat()
                if found.st_uid != os.geteuid():
                    return refusal(path, found, what)
        return Spoilt("host", f"{self.path} {what}")


def refusal(path: Path, found: os.stat_result, what: str) -> Spoilt:
    """Return the error of a lock's file or folder, with its owner and the setting that names another folder."""
    return Spoilt("host", f"{path} {what}; it belongs to user {user_name(found.st_uid)}; {ELSEWHERE}")
