"""Who is at the other end of a unix socket."""

import socket
import struct
import sys


def peer_uid(connection: socket.socket) -> int:
    """The user id of the process that connected, as the kernel knows it. Raises OSError."""
    if sys.platform == "linux":
        _pid, uid, _gid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return int(uid)
    # macOS and the BSDs: LOCAL_PEERCRED (1) at level SOL_LOCAL (0) gives struct xucred, which begins with its version
    # and the effective user id.
    _version, uid = struct.unpack("II", connection.getsockopt(0, 1, 76)[:8])
    return int(uid)
