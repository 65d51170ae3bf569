"""Sends content to a host by its hash: nothing is sent twice, and incomplete files are never used."""

import hashlib
from collections.abc import Awaitable, Mapping
from typing import Any, Protocol

from kpd.hosts.errors import HostError
from kpd.hosts.link import Frame
from kpd.text.numbers import counted

ALONG = 64 << 10  # bytes of new content worth sending unasked: asking first would cost a round trip
BATCH = 8 << 20  # bytes of content a message carries, unless one blob alone is larger


class AskHelper(Protocol):
    """A function that sends one request to the host and returns its answer."""

    def __call__(self, op: str, body: bytes = b"", **fields: Any) -> Awaitable[Frame]: ...


class Content:
    """The content store of one host, as far as this link knows it."""

    def __init__(self, host: str, ask: AskHelper) -> None:
        self.name = host
        self._ask = ask
        self._held: set[str] = set()

    def forget(self) -> None:
        """Forget which content the host has: ask again before the next use."""
        self._held.clear()

    async def stage(self, files: Mapping[str, bytes]) -> str:
        """Make a folder of these files on the host, as `Host.stage` says. One round trip if little content is new."""
        manifest = {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}
        blobs = {manifest[path]: data for path, data in files.items()}
        new = {sha: data for sha, data in blobs.items() if sha not in self._held}
        along = new if sum(map(len, new.values())) <= ALONG else {}
        reply = await self._tree(manifest, along)
        if "missing" in reply:
            await self._send({sha: blobs[sha] for sha in reply["missing"]})
            reply = await self._tree(manifest, {})
        if "missing" in reply:
            raise HostError("host", f"{self.name}: {counted(len(reply['missing']), 'file')} just sent, and gone")
        self._held.update(blobs)
        return str(reply["digest"])

    async def _send(self, blobs: Mapping[str, bytes]) -> None:
        batch: list[tuple[str, int]] = []
        body = b""
        for sha, data in blobs.items():
            if batch and len(body) + len(data) > BATCH:
                await self._ask("put", body, blobs=batch)
                batch, body = [], b""
            batch.append((sha, len(data)))
            body += data
        if batch:
            await self._ask("put", body, blobs=batch)

    async def _tree(self, files: Mapping[str, str], along: Mapping[str, bytes]) -> dict[str, Any]:
        sizes = [(sha, len(data)) for sha, data in along.items()]
        return (await self._ask("tree", b"".join(along.values()), files=dict(files), blobs=sizes)).fields
