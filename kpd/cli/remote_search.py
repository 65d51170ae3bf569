"""Finds the workspace and the socket of its daemon; runs on the remote machine of `kpd attach --ssh`.

It is sent as source to that machine's python3 (3.6 or newer), because a login without a terminal rarely has kpd on its
PATH. The rules are those of kpd.workspace.paths. It prints one JSON object and changes nothing.
"""

import contextlib
import hashlib
import json
import os
import re
import socket
import stat
import sys
import tempfile
from pathlib import Path
from typing import Iterator  # noqa: UP035 - evaluated under Python 3.6 too

HELLO = b'{"op":"hello","id":1,"protocol":1,"client":"attach","read_only":true}\n'
PATIENCE_S = 2.0
LARGEST_CONFIG = 256 << 10
DARWIN_USER_TEMP_DIR = 65537  # confstr's number for the user's own temporary folder, which a login by ssh may not have


def search(where: str) -> "dict[str, object]":
    """Find the workspace at or above `where`, its daemon's socket and its config.

    `where` may begin with ~; empty, it is the home folder, or else the workspace of the only daemon that runs.
    """
    start = Path(where or "~").expanduser()
    root = workspace(start)
    running = [] if root else others()
    if root is None and not where and len(running) == 1:
        root = Path(running[0])
    return {
        "start": str(start),
        "root": str(root or ""),
        "socket": listening(root) if root else "",
        "config": config(root) if root else "",
        "running": running,
    }


def workspace(start: Path) -> "Path | None":
    """Find the workspace at or above a folder, as Workspace.find does."""
    if not start.is_dir():
        return None
    try:
        resolved = start.resolve()
        for folder in (resolved, *resolved.parents):
            if is_workspace(folder):
                return folder
            if mine(folder / "workspace") and is_workspace(folder / "workspace"):
                return (folder / "workspace").resolve()
    except OSError:  # a folder may not be readable
        return None
    return None


def is_workspace(folder: Path) -> bool:
    """Return whether the folder is a workspace, as paths.is_workspace does."""
    if (folder / "config.toml.example").is_file() and (folder / "kpd" / "workspace").is_dir():
        return False
    served = (folder / ".kpd" / "events.db").exists()
    return served or ((folder / "tasks").is_dir() and any((folder / mark).exists() for mark in ("config.toml", ".kpd")))


def mine(folder: Path) -> bool:
    """Return whether the folder belongs to this user, as paths._own does."""
    try:
        found = folder.stat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()


def listening(root: Path) -> str:
    """Return the path of the daemon's socket, found as by Workspace.socket; empty where none listens."""
    mark = hashlib.sha256(os.fsencode(str(root))).hexdigest()[:8]
    name = re.sub(r"[^A-Za-z0-9._-]", "_", root.name)[:24] or "root"
    socket_name = f"{name}-{mark}.sock"
    paths = [folder / socket_name for folder in folders()]
    with contextlib.suppress(OSError, ValueError):
        noted = Path((root / ".kpd" / "socket").read_text())
        paths = [noted, *paths] if noted.name == socket_name and own(noted.parent) else paths
    for path in paths:
        with contextlib.suppress(OSError), connected(path):
            return str(path)
    return ""


def others() -> "list[str]":
    """Return the workspaces of this user's daemons that answer."""
    found = set()
    for folder in folders():
        for path in folder.glob("*.sock"):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError), connected(path) as end:
                end.sendall(HELLO)
                with end.makefile("rb") as lines:
                    found.add(str(json.loads(lines.readline(1 << 16).decode())["result"]["workspace"]))
    return sorted(found - {""})


def folders() -> "list[Path]":
    """Return the folders where sockets can be: a daemon may have started with another environment than this one."""
    uid = os.getuid()
    runtime = [os.environ.get("XDG_RUNTIME_DIR", "")]
    temporary = [tempfile.gettempdir(), "/tmp"]
    if sys.platform == "darwin":
        with contextlib.suppress(OSError, ValueError):
            temporary.append(os.confstr(DARWIN_USER_TEMP_DIR) or "")
    wanted = [Path(folder) / "kpd-v1" for folder in [*runtime, f"/run/user/{uid}"] if folder]
    wanted += [Path(folder) / f"kpd-v1-{uid}" for folder in temporary if folder]
    return [folder for at, folder in enumerate(wanted) if folder not in wanted[:at] and own(folder)]


def own(folder: Path) -> bool:
    """Return whether the folder is this user's alone: in a shared temporary folder anybody can take a name first."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


@contextlib.contextmanager
def connected(path: Path) -> "Iterator[socket.socket]":
    """Run the block with a connection to the socket. Raises OSError where nobody listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as end:
        end.settimeout(PATIENCE_S)
        end.connect(str(path))
        yield end


def config(root: Path) -> str:
    try:
        with (root / "config.toml").open("rb") as file:
            return file.read(LARGEST_CONFIG).decode(errors="replace")
    except OSError:
        return ""


if __name__ == "__main__":
    sys.stdout.write(json.dumps(search(sys.argv[1])) + "\n")
