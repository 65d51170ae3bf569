"""A server that is none of kpd's."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path


@asynccontextmanager
async def impostor(path: Path, *lines: bytes, close: bool = False) -> AsyncIterator[None]:
    """Something that takes connections and says one of `lines` for each line that it gets."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for line in lines:
            await reader.readline()
            writer.write(line)
        if not close:
            with contextlib.suppress(ConnectionError):
                await reader.read()
        writer.close()

    listener = await asyncio.start_unix_server(talk, path)
    try:
        yield
    finally:
        listener.close()
