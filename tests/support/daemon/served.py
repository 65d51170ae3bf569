"""A real server on a real socket with a real log, and a raw client that can misbehave."""

import asyncio
import json
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kpd.daemon.journal import EventJournal
from kpd.daemon.server import Server
from kpd.daemon.store import EventStore
from kpd.model import events as e
from kpd.model.notices import Said
from kpd.wire import PROTOCOL, DaemonError


@pytest.fixture
def folder() -> Iterator[Path]:
    """A private folder with a short path: a socket's may have about 100 bytes."""
    made = Path(tempfile.mkdtemp(prefix="kpd-", dir="/tmp"))
    yield made
    shutil.rmtree(made)


@pytest.fixture
def journal(folder: Path) -> Iterator[EventJournal]:
    with EventStore(folder / "events.db") as store:
        yield EventJournal(store)


class Answers:
    """Handlers that record what they are asked; `release` lets a command finish."""

    def __init__(self) -> None:
        self.release = asyncio.Event()
        self.started = asyncio.Event()
        self.finished: list[tuple[str, dict[str, Any], str]] = []

    async def query(self, what: str, args: dict[str, Any]) -> Any:
        match what:
            case "echo":
                return args
            case "big":
                return "x" * args["size"]
            case "missing":
                raise DaemonError("unknown", "no such thing", "look elsewhere")
            case "set":
                return {"not", "json", object()}
        raise ZeroDivisionError("a defect")

    async def command(self, verb: str, args: dict[str, Any], by: str) -> Any:
        self.started.set()
        if verb == "slow":
            await self.release.wait()
        self.finished.append((verb, args, by))
        return {"done": verb}


@pytest.fixture
async def answers() -> Answers:
    return Answers()


@pytest.fixture
async def server(folder: Path, journal: EventJournal, answers: Answers) -> AsyncIterator[Server]:
    async with Server(folder / "s", journal, answers.query, answers.command) as running:
        yield running


class Raw:
    """Bytes on the socket, as any program could send them."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, **message: Any) -> None:
        self.writer.write(json.dumps(message).encode() + b"\n")

    async def read(self) -> Any:
        """The next message, or None at the end."""
        try:
            line = await asyncio.wait_for(self.reader.readline(), 10)
        except ConnectionResetError:  # the system's word for an end with input that was not read
            return None
        return json.loads(line) if line else None

    async def all(self) -> list[Any]:
        """Everything up to the end of the connection."""
        found = []
        while (message := await self.read()) is not None:
            found.append(message)
        return found

    async def hello(self, **more: Any) -> Any:
        self.send(id=1, op="hello", **{"protocol": PROTOCOL, "version": "9.9", "client": "raw"} | more)
        return await self.read()


@asynccontextmanager
async def raw(folder: Path, hello: bool = True) -> AsyncIterator[Raw]:
    reader, writer = await asyncio.open_unix_connection(folder / "s", limit=2**26)
    client = Raw(reader, writer)
    try:
        if hello:
            assert (await client.hello())["ok"]
        yield client
    finally:
        writer.close()


def noticed(text: str) -> e.Noticed:
    return e.Noticed("info", Said(text))
