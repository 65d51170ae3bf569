"""What the far side of a pipe writes to its stderr: the last of it is kept for an error, and too much is one."""

from kpd.hosts.errors import HostError

KEPT = 4096  # bytes worth showing
MOST = 1 << 20  # bytes of it in all: the helper says nothing there, so what talks is a login shell
SILENCE = "let ~/.bashrc and the like say nothing when the shell is not interactive"


class OutputFlood(OSError):
    """The far side talks without end."""

    def error(self, host: str) -> HostError:
        """The same for a person."""
        return HostError("config", f"{host}: the login shell talks without end", SILENCE)


class StderrTail:
    """The end of a stream. `endless` once more has come than anybody would say who means to end."""

    def __init__(self) -> None:
        self._kept = b""
        self._heard = 0

    def __str__(self) -> str:
        return self._kept.decode(errors="replace")

    @property
    def endless(self) -> bool:
        return self._heard > MOST

    def add(self, data: bytes) -> None:
        self._kept = (self._kept + data)[-KEPT:]
        self._heard += len(data)
