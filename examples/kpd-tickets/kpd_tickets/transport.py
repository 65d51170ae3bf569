"""The transport `tickets`: hosts that the scheduler of this package lends."""

import asyncio
import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, ClassVar

from kpd.workspace.durations import duration
from kpd.workspace.paths import SOCKET_PATH_BYTES
from kpd.workspace.transports import ASKED, BadKey, TransportKind

SOON_S, SOON = 2.0, 40  # for a ticket to be answered, and for what is lent to listen; and how often is looked
AGAIN_S = 2.0  # until it is looked at again


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of such a table of config.toml. `kpd hosts add` asks for those with ASKED."""

    queue: str = field(metadata={ASKED: "the folder of the scheduler's queue"})
    time: str = field(metadata={ASKED: "for how long a ticket is lent: 2h"})
    abandon_after: str = "15m"
    idle_release: str = "10m"
    max_allocations: int = 1

    def __post_init__(self) -> None:
        for key in ("time", "abandon_after", "idle_release"):
            try:
                duration(getattr(self, key))
            except ValueError as err:
                raise BadKey(key, f"is {err}", 'write "90s", "20m" or "1h"') from err


class Pipe:
    """The pipe to a helper: the two directions of a socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def close(self) -> str:
        self.writer.close()
        with suppress(OSError):
            await self.writer.wait_closed()
        return ""  # what the far side said of its end is in the scheduler's own output


class Tickets:
    """Lends what belongs to the ticket `name`, which no other host of any workspace leaves."""

    kind: ClassVar[str] = "tickets"

    def __init__(self, host: str, name: str, keys: Keys, python: str) -> None:
        self.idle_s = duration(keys.idle_release)
        self._host = host
        self._ticket = Path(keys.queue) / name
        self._keys = keys
        self._python = python
        self._ends: float | None = None

    async def open(self) -> Pipe:
        """Enter what is lent; leave a ticket where there is none. Raises HostError: Pending while it waits."""
        from kpd.hosts.bundle import BOOTSTRAP
        from kpd.hosts.errors import HostError, Pending
        from kpd.model.waits import ForAllocation

        if len(os.fsencode(self._path("socket"))) > SOCKET_PATH_BYTES:
            raise HostError(
                "config", f"{self._host}: no socket can have the path {self._path('socket')}", "shorten `queue`"
            )
        try:
            asked = self._ask()
        except OSError as err:
            raise HostError("config", f"{self._host}: no ticket can be left: {err}", "correct `queue`") from err
        last = self._state()
        after = last.get("how", "") if asked else ""
        found = last
        for _ in range(SOON if asked else 1):
            if (found := self._state()) != last:
                break
            await asyncio.sleep(SOON_S / SOON)
        if found.get("state") != "running":
            reason = found.get("reason", "") if found.get("state") == "pending" else "no scheduler has answered yet"
            waits = ForAllocation(self._host, self._ticket.name, reason, None, after)
            pending = Pending(f"{self._host}: ticket {self._ticket.name} waits ({reason})", waits)
            pending.again_s = AGAIN_S
            raise pending
        self._ends = found["ends"]
        for _ in range(SOON):
            with suppress(OSError):
                pipe = Pipe(*await asyncio.open_unix_connection(self._path("socket")))
                break
            await asyncio.sleep(SOON_S / SOON)
        else:
            raise HostError("unreachable", f"{self._host}: nobody listens in {found['id']}")
        pipe.writer.write(json.dumps([self._python, "-I", "-S", "-c", BOOTSTRAP]).encode() + b"\n")
        return pipe

    async def trust(self, key: Any) -> None:
        from kpd.hosts.errors import HostError

        raise HostError("host_key", f"{key.host}: a ticket shows no key", "there is nothing to trust")

    def left_s(self) -> float | None:
        return None if self._ends is None else self._ends - time.time()

    def whole_s(self) -> float:
        return duration(self._keys.time)

    async def checks(self, run: Any, root: PurePath) -> tuple[Any, ...]:
        from kpd.model.hosts import Check

        return (Check("queue", "ok", f"{self._keys.queue} has {self._count()} tickets that wait or run"),)

    async def give_back(self) -> None:
        """Take the ticket back, also one that another process has left."""
        if self._path("ask").exists():
            self._path("cancel").touch()

    async def close(self) -> None:
        await self.give_back()

    def _ask(self) -> bool:
        """Leave the ticket, and return whether there was none: its name is taken once, however often this is called."""
        wants = {"time_s": duration(self._keys.time), "abandon_s": duration(self._keys.abandon_after)}
        written = self._path(f"{os.getpid()}.tmp")
        written.write_text(json.dumps(wants))
        try:
            self._path("ask").hardlink_to(written)
        except FileExistsError:
            return False
        finally:
            written.unlink()
        return True

    def _count(self) -> int:
        return len(list(self._ticket.parent.glob("*.ask")))

    def _state(self) -> dict[str, Any]:
        with suppress(FileNotFoundError):
            return dict(json.loads(self._path("state").read_text()))
        return {}

    def _path(self, suffix: str) -> Path:
        return self._ticket.with_name(f"{self._ticket.name}.{suffix}")


def _made(name: str, host: Any, workspace: Any) -> Tickets:
    return Tickets(name, f"kpd-{workspace.identity()}-{name}", host.options, host.python)


TICKETS = TransportKind(_made, Keys, on_demand=True)
