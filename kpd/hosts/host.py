"""What the rest of kpd sees of a host: stage files, run jobs by id, read back results."""

import asyncio
import contextlib
import hashlib
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Literal
from uuid import uuid4

from kpd.hosts import probe
from kpd.hosts.errors import HostError
from kpd.hosts.helper.wire import KEPT
from kpd.hosts.link import Frame, Link, Transport

ALONG = 64 << 10  # bytes of new content worth sending unasked: asking first would cost a round trip
BATCH = 8 << 20  # bytes of content a message carries, unless one blob alone is larger
KILL_WAIT_S = 8.0  # what a cancelled job waits for its group's end: TERM, KILL, and some if it hangs in the kernel
NO_SPACE = 1 << 20  # a host with fewer bytes free than this is full


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A shell script to run once on a host. `id` is the job's identity: a host runs one id at most once.

    The script runs in the job's own folder, which has an empty `out/`, with `env` added to a minimal environment.
    `limit_s` is in seconds; `cpus` are the ones it may run on (empty: all; ignored on macOS, which cannot pin).
    """

    id: str
    script: str
    limit_s: float
    stdin: bytes = b""
    env: dict[str, str] = field(default_factory=dict)
    cpus: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class JobResult:
    """How a job ended. `reason` is empty when the script ended by itself; `rc` is negative for a signal.

    `lost` means that nobody knows: its supervisor was killed, or the host fell; `forget` the job to run it again.
    `seconds` counts until the script's end. `cached` means that it had ended before it was asked for. Of a very long
    stream only the last 32 MiB are here, and `stdout_cut` and `stderr_cut` are the bytes missing before them; the files
    on the host are whole.
    """

    id: str
    rc: int
    stdout: bytes
    stderr: bytes
    seconds: float
    reason: Literal["", "timeout", "killed", "lost"] = ""
    cached: bool = False
    stdout_cut: int = 0
    stderr_cut: int = 0


class Tail:
    """The last KEPT bytes of a stream that comes in pieces, each with its offset."""

    def __init__(self) -> None:
        self.pieces: deque[bytes] = deque()
        self.held = 0
        self.end = 0

    def add(self, offset: int, data: bytes) -> None:
        self.pieces.append(data)
        self.held += len(data)
        self.end = offset + len(data)
        while self.held - len(self.pieces[0]) >= KEPT:
            self.held -= len(self.pieces.popleft())

    def take(self) -> tuple[bytes, int]:
        """The bytes, and how many came before them."""
        data = b"".join(self.pieces)[-KEPT:]
        return data, self.end - len(data)


class Host:
    """A place where commands run. Every method but `close` raises HostError; none of that is a candidate's fault."""

    def __init__(self, name: str, root: PurePosixPath, transport: Transport) -> None:
        self.name = name
        self.root = root
        self.transport = transport
        self.busy_s = 0.0  # how long this host has worked on jobs for us: what is not kpd's own overhead
        self._link: Link | None = None
        self._held: set[str] = set()  # content that this link has seen on the host

    @property
    def up(self) -> bool:
        return self._link is not None and self._link.up

    async def connect(self) -> None:
        """Starts the helper, unless it runs. After a lost link, call it again: jobs have gone on meanwhile.

        From then on `root` is the folder's resolved path on the host.
        """
        if self.up:
            return
        await self.close()
        link = Link(self.name, await self.transport.open())
        try:
            await link.start()
            hello = await link.ask("hello", root=str(self.root))
        except BaseException:
            await link.close()
            raise
        self.root = PurePosixPath(hello.fields["root"])
        self._held.clear()
        self._link = link

    async def close(self) -> None:
        """Ends the helper. Jobs go on."""
        if self._link is not None:
            link, self._link = self._link, None
            await link.close()

    async def put(self, blobs: Mapping[str, bytes]) -> None:
        """Puts content, by its sha256, into the host's store. Only what the host lacks is sent."""
        if blobs:
            have = await self._ask("have", shas=sorted(blobs))
            await self._send({sha: blobs[sha] for sha in have.fields["missing"]})
            self._held.update(blobs)

    async def tree(self, files: Mapping[str, str]) -> str:
        """Makes `root/trees/<digest>/`, read-only, of content that the host has; `files` maps paths to sha256.

        Returns the digest. A tree that exists is checked, and made anew if a job has tampered with it.
        """
        reply = await self._tree(files, {})
        if "missing" in reply:
            raise HostError("missing_blob", f"{self.name}: {len(reply['missing'])} of the tree's files were never put")
        return str(reply["digest"])

    async def stage(self, files: Mapping[str, bytes]) -> str:
        """`put` and `tree` in one: one round trip while what is new is small. Returns the digest."""
        manifest = {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}
        blobs = {manifest[path]: data for path, data in files.items()}
        new = {sha: data for sha, data in blobs.items() if sha not in self._held}
        along = new if sum(map(len, new.values())) <= ALONG else {}
        reply = await self._tree(manifest, along)
        if "missing" in reply:
            await self._send({sha: blobs[sha] for sha in reply["missing"]})
            reply = {"digest": await self.tree(manifest)}
        self._held.update(blobs)
        return str(reply["digest"])

    async def job(self, spec: JobSpec, on_output: Callable[[str, bytes], None] | None = None) -> JobResult:
        """Runs the job to its end: a finished one is answered from its folder, a running one followed, else it starts.

        `on_output` gets ("stdout" or "stderr", bytes) as they come, from the first byte on. Cancelling the awaiting
        task kills the job's process group, for everyone who follows it. HostError leaves the job running on the host.
        """
        tails = {"stdout": Tail(), "stderr": Tail()}
        script = spec.script.encode()
        request = {"job": spec.id, "script": len(script), "limit_s": spec.limit_s, "env": spec.env, "cpus": spec.cpus}
        try:
            async with contextlib.aclosing(self._connected().follow("job", script + spec.stdin, **request)) as frames:
                async for frame in frames:
                    if frame.final:
                        return await self._result(spec.id, frame.fields, tails)
                    stream = str(frame.fields["stream"])
                    tails[stream].add(frame.fields["offset"], frame.body)
                    if on_output is not None:
                        on_output(stream, frame.body)
        except asyncio.CancelledError:
            with contextlib.suppress(HostError, TimeoutError):  # a broken link cannot kill; the job keeps its limit
                async with asyncio.timeout(KILL_WAIT_S):
                    await self.kill(spec.id)
            raise
        raise AssertionError("a job ends with a final frame or raises")

    async def forget(self, id: str) -> None:
        """Removes a finished job's folder, so that the same id may run again. Unknown ids are forgotten already."""
        await self._ask("forget", job=id)

    async def kill(self, id: str) -> bool:
        """Ends a job's process group: TERM, KILL half a second later. Returns when it has ended; False if none ran."""
        return bool((await self._ask("kill", job=id)).fields["killed"])

    async def read(self, path: str, limit: int) -> bytes:
        """A whole file below the host's root, by absolute or relative path; one over `limit` bytes is too_large."""
        return (await self._ask("read", path=path, limit=limit)).body

    async def running(self) -> list[str]:
        """The ids of the jobs that run, whoever started them."""
        return [str(id) for id in (await self._ask("running")).fields["jobs"]]

    async def clean(self, older_than_s: float) -> None:
        """Removes finished jobs, and content, that nobody has used for so many seconds."""
        await self._ask("clean", older_than_s=older_than_s)
        self._held.clear()

    async def probe(self) -> probe.Facts:
        """What the host is and has. Takes as long as its compilers take to say their version."""
        facts = (await self._ask("facts")).fields
        id = f"probe-{uuid4().hex}"
        said = await self.job(JobSpec(id, probe.SCRIPT, probe.LIMIT_S))
        await self.forget(id)
        return probe.facts(facts, said.stdout.decode(errors="replace"))

    def _connected(self) -> Link:
        if self._link is None:
            raise HostError("unreachable", f"{self.name}: not connected")
        return self._link

    async def _ask(self, op: str, body: bytes = b"", **fields: Any) -> Frame:
        return await self._connected().ask(op, body, **fields)

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

    async def _result(self, id: str, end: dict[str, Any], tails: Mapping[str, Tail]) -> JobResult:
        if not end["cached"] and end["free"] < NO_SPACE:
            # Whatever it failed of, a full disk comes first; and what it wrote may be cut short without its noticing.
            # Forgotten, so that it can run when there is space.
            await self.forget(id)
            raise HostError("no_space", f"{self.name}: the disk was full when job {id} ended with {end['rc']}")
        if not end["cached"]:
            self.busy_s += end["seconds"]
        stdout, stdout_cut = tails["stdout"].take()
        stderr, stderr_cut = tails["stderr"].take()
        return JobResult(
            id, end["rc"], stdout, stderr, end["seconds"], end["reason"], end["cached"], stdout_cut, stderr_cut
        )
