"""Stands in front of a server that frames its messages with Content-Length, and speaks the protocol's lines instead.

`python3 content_length.py COMMAND …`: it needs nothing but Python, as it is copied into the tools that need it.
"""

import subprocess
import sys
import threading
from collections.abc import Callable
from typing import IO

MOST_BYTES = 4 << 20
"""The most bytes of a message."""


def main(argv: list[str]) -> int:
    """Start the server and pass on all messages; return its exit status."""
    program = sys.executable if argv[0] in ("python", "python3") else argv[0]
    server = subprocess.Popen([program, *argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None and server.stdout is not None
    asking = threading.Thread(target=_pump, args=(lines, sys.stdin.buffer, framed, server.stdin), daemon=True)
    asking.start()
    _pump(messages, server.stdout, lined, sys.stdout.buffer)
    return server.wait()


def _pump(
    read: Callable[[IO[bytes]], bytes | None], source: IO[bytes], written: Callable[[bytes], bytes], target: IO[bytes]
) -> None:
    try:
        while (message := read(source)) is not None:
            target.write(written(message))
            target.flush()
        target.close()
    except BrokenPipeError:  # the other end has gone first
        return


def lines(source: IO[bytes]) -> bytes | None:
    """Read the next message of a line; None at the end."""
    while line := source.readline(MOST_BYTES):
        if line.strip():
            return line.strip()
    return None


def messages(source: IO[bytes]) -> bytes | None:
    """Read the next framed message; None at the end. What is no header, such as a line that was printed, is passed by.

    Raises ValueError for a message that is too long.
    """
    length = None
    while line := source.readline(MOST_BYTES):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            length = int(value)
        elif not line.strip() and length is not None:
            if length > MOST_BYTES:
                raise ValueError(f"a message of {length} bytes; {MOST_BYTES} are the most")
            return source.read(length)
    return None


def framed(message: bytes) -> bytes:
    """Return a message behind its header."""
    return b"Content-Length: %d\r\n\r\n%s" % (len(message), message)


def lined(message: bytes) -> bytes:
    """Return a message on one line: JSON has line ends between its parts only, where a blank does as well."""
    return b" ".join(message.split(b"\n")).replace(b"\r", b" ") + b"\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
