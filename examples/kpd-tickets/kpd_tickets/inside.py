"""Starts what comes through a socket, inside of what is lent; ends, and all with it, when nobody was here for long.

It is the first process of its container, so nothing that it has started, or that this has started, outlives it.
"""

import json
import os
import socket
import struct
import sys
import time


def serve(path: str, id: str, abandon_s: float) -> None:
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen()
    listening.settimeout(0.2)
    here: set[int] = set()
    seen = time.monotonic()
    while time.monotonic() - seen < abandon_s:
        try:
            near, _ = listening.accept()
        except TimeoutError:
            pass
        else:
            with near:
                if pid := start(near, id):
                    here.add(pid)
        while here and (ended := os.waitpid(-1, os.WNOHANG)[0]):
            here.discard(ended)
        if here:
            seen = time.monotonic()


def start(near: socket.socket, id: str) -> int:
    """Start the command of the first line, with the socket as its stdin and stdout, and return its pid.

    Nothing is started, and 0 returned, for one who is in the container: a candidate would get a command out of its
    sandbox. Here they alone have a pid.
    """
    if struct.unpack("3i", near.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]:
        return 0
    near.settimeout(5.0)
    line = b""
    try:
        while not line.endswith(b"\n"):
            line += near.recv(1) or b"\n"
        words = json.loads(line)
    except (OSError, ValueError):
        return 0
    near.settimeout(None)
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.dup2(near.fileno(), 0)
        os.dup2(near.fileno(), 1)
        os.execvpe(words[0], words, {**os.environ, "KPD_ALLOCATION": id})
    return pid


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], float(sys.argv[3]))
