"""Locks one device: a file shared by every kpd on the host, locked by the kernel as long as its holder lives."""

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
from kpd.hosts.helper.wire import Header

READ = 4096  # bytes of a lock's file worth reading
MOST_TOKEN = 1 << 53
LONGEST = 200  # characters of a holder
TRIES = 100  # at opening a file that others make and remove at the same time


def lock_path(folder: Path, device: str) -> Path:
    """Return the path of a device's lock. Raises RequestRefused for what is no name of a device."""
    if not re.match(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z", device):
        raise RequestRefused("refused", f"{device!r} is not the name of a device")
    return folder / (device + ".lock")


class Lock:
    """A `flock` on a file with one JSON line: token, holder, pid, since. The token grows by one with every lease.

    Anyone may open the file, and its content is believed only as far as it makes sense. Every method but `close` raises
    RequestRefused (`host`) when the file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.token = 0  # the highest one that this lock has seen
        self.file = -1

    def open(self) -> None:
        """Open the file anew; make it, and its folder, where they are missing."""
        self.close()
        mask = os.umask(0)  # every user of the host may use what is made here
        try:
            self.file = self._open()
            if not stat.S_ISREG(os.fstat(self.file).st_mode):
                raise RequestRefused("host", f"{self.path} is not a regular file, so it cannot be a lease")
        except OSError as err:
            raise self.trouble(err) from err
        finally:
            os.umask(mask)

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK
        for _ in range(TRIES):
            with contextlib.suppress(FileExistsError):
                self.path.parent.mkdir(mode=0o1777)
            if not stat.S_ISDIR(self.path.parent.lstat().st_mode):
                raise RequestRefused("host", f"{self.path.parent} is not a folder, so it cannot hold leases")
            # Without O_CREAT first: with it, another user's file cannot be opened in a sticky folder.
            with contextlib.suppress(FileNotFoundError):
                return os.open(str(self.path), flags)
            with contextlib.suppress(FileExistsError):  # another was first
                return os.open(str(self.path), flags | os.O_CREAT | os.O_EXCL, 0o666)
        raise RequestRefused("host", f"{self.path} is removed again and again, so it cannot be a lease")

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
        """Read the file: token, holder, pid and since; zeros and an empty holder where it makes no sense."""
        try:
            line = os.pread(self.file, READ, 0).split(b"\n")[0]
            found = json.loads(line.decode())
            token, pid, since = int(found["token"]), int(found["pid"]), float(found["since"])
            holder = str(found["holder"])[:LONGEST]
        except OSError as err:
            raise self.trouble(err) from err
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            return {"token": 0, "holder": "", "pid": 0, "since": 0.0}
        if not (0 <= token < MOST_TOKEN and 0 <= pid < MOST_TOKEN and 0 <= since < MOST_TOKEN):
            return {"token": 0, "holder": "", "pid": 0, "since": 0.0}
        self.token = max(self.token, token)
        return {"token": token, "holder": holder, "pid": pid, "since": since}

    def sign(self, holder: str) -> int:
        """Write into the locked file who holds it now, under a new token, and return the token."""
        self.said()
        self.token += 1
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
            return "its file was replaced"
        token = self.token
        now = self.said()["token"]
        return "" if now == token else f"its file says token {now}, not {token}"

    def close(self) -> None:
        """Release the lock and close the file."""
        if self.file >= 0:
            with contextlib.suppress(OSError):  # closing does the same, unless a child still has the file
                fcntl.flock(self.file, fcntl.LOCK_UN)
            os.close(self.file)
            self.file = -1

    def trouble(self, err: OSError) -> RequestRefused:
        return RequestRefused("host", f"the lease file {self.path} cannot be used: {err.strerror}")
