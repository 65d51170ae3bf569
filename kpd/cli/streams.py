"""The three streams that kpd was given, of which some may be closed or full."""

import errno
import io
import os
import sys
from typing import NoReturn, TextIO, cast


class Closed(io.TextIOBase):
    """Stands for a stdout that was closed before kpd began: to write to it fails as on a full disk."""

    def write(self, text: str) -> NoReturn:
        raise OSError(errno.EBADF, "it is closed", "stdout")


def make_whole() -> None:
    """Have all three streams there. A closed one's number is taken, or kpd's next file would get it."""
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY))
    if sys.stdout is None:
        os.open(os.devnull, os.O_WRONLY)
        sys.stdout = cast(TextIO, Closed())
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def let_go_of_stderr() -> None:
    """What could not be narrated is dropped: Python would try once more, and its failure would be the exit code."""
    try:
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
