"""Keeps the GPU hours of allocations, whoever lends them: a line in a file as one is entered, and as it ends."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from math import inf
from pathlib import Path

from kpd.hosts.errors import HostError
from kpd.workspace.paths import Workspace

DAY_S = 86_400.0


def hours_file(workspace: Workspace) -> Path:
    return workspace.private / "allocations.jsonl"


@dataclass(frozen=True, slots=True)
class Lent:
    """An allocation that kpd has entered, by its id. Times are Unix times by the lender's clock.

    `ends` is its time limit. Without `ended` nobody has seen its end: it counts until `ends`, as it may have lasted.
    `table` is that of the host in config.toml, where several hosts come of one.
    """

    host: str
    job: str
    user: str
    account: str
    gpus: int
    begun: float
    ends: float
    ended: float | None = None
    table: str = ""

    @property
    def lender(self) -> str:
        """The name of the table that it was asked for with."""
        return self.table or self.host

    def hours(self, now: float, since: float = 0.0) -> float:
        """Return its GPU hours from `since` until `now`."""
        until = min(now, self.ends if self.ended is None else self.ended)
        return self.gpus * max(until - max(self.begun, since), 0.0) / 3600


class GpuHours:
    """The allocations of a workspace, in a file. All methods raise HostError where that cannot be read or written."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> list[Lent]:
        """Return all allocations, in the order of their beginning."""
        found: dict[tuple[str, str, float], Lent] = {}
        with self._told(), suppress(FileNotFoundError):
            for line in self._path.read_text().splitlines():
                with suppress(ValueError, TypeError):  # a line that a crash has cut off
                    lent = Lent(**json.loads(line))
                    found[lent.host, lent.job, lent.begun] = lent
        return list(found.values())

    def note(self, lent: Lent) -> None:
        """Add a line for an allocation; a later one replaces an earlier one."""
        with self._told():
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a") as file:
                file.write(f"\n{json.dumps(asdict(lent))}\n")  # begun anew, also after a line that was cut off

    def end(self, host: str, job: str, at: float) -> None:
        """Note the end of an allocation that was entered."""
        for lent in self.read():
            if (lent.host, lent.job, lent.ended) == (host, job, None):
                self.note(replace(lent, ended=max(min(at, lent.ends), lent.begun)))

    def open(self, host: str) -> list[str]:
        """Return the jobs of a host whose end nobody has seen."""
        return [lent.job for lent in self.read() if lent.host == host and lent.ended is None]

    def today(self, table: str, now: float) -> float:
        """Return the GPU hours of a table's allocations since midnight (UTC)."""
        return total((lent for lent in self.read() if lent.lender == table), now, now - now % DAY_S)

    def due(self, table: str, but: str, now: float) -> float:
        """Return the GPU hours that allocations of a table may still use, but those of the host `but`."""
        return total((lent for lent in self.read() if lent.lender == table and lent.host != but), inf, now)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as err:
            message = f"the GPU hours of allocations cannot be kept in {self._path}: {err.strerror}"
            raise HostError("host", message, "free the disk, or make it a file that kpd can read and write") from err


def total(lent: Iterable[Lent], now: float, since: float = 0.0) -> float:
    """Return the GPU hours of these allocations from `since` until `now`."""
    return sum(one.hours(now, since) for one in lent)
