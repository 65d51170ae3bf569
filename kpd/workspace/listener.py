"""Binds the Unix sockets on which a daemon listens."""

import os
import socket
import stat
from pathlib import Path


def bind_private(path: Path) -> socket.socket:
    """Bind a socket at `path` for this user alone; one that a crash has left there is replaced.

    Raises FileExistsError where anything but a socket is in the way, and OSError.
    """
    if path.exists() or path.is_symlink():
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise FileExistsError(f"{path} is in the way and is not a socket: move it away")
        path.unlink()
    return bind_new(path)


def bind_new(path: Path) -> socket.socket:
    """Bind a socket at `path`, where nothing is yet, for this user alone. Raises OSError."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(os.fspath(path))
        path.chmod(0o600)
    except OSError:
        listener.close()
        raise
    return listener
