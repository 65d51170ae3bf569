"""The interface to a host: stage files, run jobs by id, read results."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any
from uuid import uuid4

from kpd.hosts.errors import LOST, HostError
from kpd.hosts.helper.lock import SHARED
from kpd.hosts.job import (
    Claim,
    CommandResult,
    JobNotes,
    JobResult,
    JobSpec,
    LeaseRequest,
    Leave,
    OutputChunk,
    Stream,
    Tail,
    device_claim,
    job_fields,
    never,
    note_work,
    prepared_on,
    waiting,
)  # fmt: skip
from kpd.hosts.lent import is_taken_away, make_room
from kpd.hosts.link import Frame, Link, Transport
from kpd.hosts.linked import LinkedHost
from kpd.hosts.preflight import device_status, probe
from kpd.hosts.reconnect import USUAL, LinkTiming
from kpd.model.hosts import Telemetry

__all__ = ["CommandResult", "Host", "JobResult", "JobSpec", "LeaseRequest", "OutputChunk"]

KILL_WAIT_S = 8.0  # for the processes of a cancelled job to end: TERM, KILL, and some time if one hangs in the kernel
NO_SPACE = 1 << 20  # a host with fewer bytes free than this is full
LEASES = str(SHARED)


class Host(LinkedHost):
    """A place where commands run, over a link that is kept up: requests made while it is down wait until it is up.

    Every request may be repeated, and after a lost link it is: content is named by its hash, and a job by its id. Every
    method but `close` raises HostError for errors that need a person; none of them is a candidate's fault. `holder` is
    the name under which other daemons see this one's leases. `tolerate` names the compute processes of others that may
    stay on a GPU while it measures. `cuda_home` is the folder of the CUDA toolkit to prefer. `reads` and
    `writes` are folders that confined jobs may read beside the system's, and write beside their own.
    """

    def __init__(
        self,
        name: str,
        root: PurePosixPath,
        transport: Transport,
        leases: str = LEASES,
        holder: str = "kpd",
        tolerate: tuple[str, ...] = (),
        pace: LinkTiming = USUAL,
        cuda_home: str = "",
        reads: tuple[str, ...] = (),
        writes: tuple[str, ...] = (),
    ) -> None:
        super().__init__(name, root, transport, leases, pace)
        self.holder = holder
        self.tolerate = tolerate
        self.cuda_home = cuda_home
        self.reads = reads
        self.writes = writes
        self.at_work = 0  # jobs that are followed
        self.builder: Host | None = None  # where candidates are built, if that is another host
        self._doomed: dict[str, asyncio.Task[str | None]] = {}  # jobs that were asked to end and may still run

    async def close(self) -> None:
        """Release the host. Its jobs go on, except those whose end was asked for."""
        if self._doomed and self.up:
            await asyncio.wait(self._doomed.values(), timeout=KILL_WAIT_S)
        for task in tuple(self._doomed.values()):
            task.cancel()
        await self._keeper.close()

    async def stage(self, files: Mapping[str, bytes]) -> str:
        """Make the folder `root/trees/<digest>/` of these files, read-only, and return its digest.

        Only content that the host lacks is sent. A tree that exists is checked, and made again if a job has changed it.
        """
        return await self._content.stage(files)

    async def run(self, script: str, limit_s: float) -> CommandResult:
        """Run a short command in one round trip; the host keeps nothing of it. Only for commands that may run twice.

        Only the first MiB of each stream is returned. After a lost link the command is run again.
        """
        reply = await self._ask("run", script.encode(), limit_s=limit_s)
        cut = reply.fields["stdout"]
        return CommandResult(reply.fields["rc"], reply.body[:cut], reply.body[cut:])

    async def job(self, spec: JobSpec, on_output: Callable[[str, bytes], None] | None = None) -> JobResult:
        """Run a job to its end and return its result; a finished job is read from its folder, a running one followed.

        `on_output` gets ("stdout" or "stderr", bytes) as they come, from the first byte on. Cancelling the awaiting
        task kills the job's process group, for everyone who follows it. HostError leaves the job running on the host.
        """
        try:
            async with contextlib.aclosing(self.follow(spec)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, JobResult):
                        return piece
                    if on_output is not None and piece.stream != "notes":
                        on_output(piece.stream, piece.data)
        except asyncio.CancelledError:
            if self.up and (ending := self._doomed.get(spec.id)) is not None:
                await asyncio.wait([ending], timeout=KILL_WAIT_S)
            raise
        raise AssertionError("a job ends with its result or raises")

    async def follow(self, spec: JobSpec, leave: Leave = never) -> AsyncGenerator[OutputChunk | JobResult]:
        """Run a job, and yield its output as it comes, from the first byte on, and at last its result.

        Closing the generator early ends the job without waiting for its end, unless `leave` says that it goes on. After
        a lost link the job is followed from the last byte seen; only a host that has never heard of it is told to start
        it.
        """
        claim = device_claim.get(None) if spec.lease is not None else None
        if spec.lease is None or claim is None:
            turn: contextlib.AbstractAsyncContextManager[None] = contextlib.nullcontext()
        else:
            turn = claim.turn(self.name, spec.lease.device)
        async with turn:
            await make_room(self, spec.limit_s)
            self.at_work += 1
            try:
                async with contextlib.aclosing(self._follow(spec, claim, leave)) as pieces:
                    async for piece in pieces:
                        yield piece
            finally:
                self.at_work -= 1

    async def _follow(
        self, spec: JobSpec, claim: Claim | None, leave: Leave
    ) -> AsyncGenerator[OutputChunk | JobResult]:
        if (ending := self._doomed.get(spec.id)) is not None:
            await asyncio.wait([ending])
        tails: dict[Stream, Tail] = {"stdout": Tail(), "stderr": Tail(), "notes": Tail()}
        notes = JobNotes()
        begun = time.monotonic()
        known = runs = False  # whether the host may have heard of the job, and whether it may be running for us
        taken = False  # whether it ended because the host did
        machine = 0
        try:
            while True:
                link = await self._keeper.linked()
                if taken:
                    runs = False
                    await self.forget(spec.id)
                    raise HostError("unreachable", f"{self.name} was taken away while job {spec.id} ran")
                if (known and machine != self.machine) or self._is_another():
                    runs = False
                    raise HostError("unreachable", f"{self.name} was restarted, or is another machine now")
                asked, known, runs, machine = known, True, True, self.machine
                try:
                    async with contextlib.aclosing(self._frames(link, spec, tails if asked else None)) as frames:
                        async for frame in frames:
                            if frame.final and await is_taken_away(self.transport, link, frame.fields, asked):
                                taken = True
                                break
                            if frame.final:
                                runs = False
                                note_work(begun, frame.fields["cached"] and not asked)
                                yield await self._result(spec.id, frame.fields, tails, asked)
                                return
                            piece = OutputChunk(frame.fields["stream"], frame.fields["offset"], frame.body)
                            tails[piece.stream].add(piece.offset, piece.data)
                            if piece.stream == "notes" and claim is not None:
                                self._heed(claim, notes.add(piece.data))
                            yield piece
                except HostError as err:
                    if err.kind in LOST:
                        continue
                    runs = False
                    known = not (asked and err.kind == "not_found" and not any(tail.end for tail in tails.values()))
                    if known:
                        raise
        except GeneratorExit:
            runs = runs and not leave()
            raise
        finally:
            if claim is not None:
                claim.waits("")
            if runs:
                note_work(begun, cached=False)
                self._doom(spec.id)

    def _is_another(self) -> bool:
        """Return whether what asks for a job was prepared on another machine."""
        there = prepared_on.get()
        return there is not None and there[0] == self.name and there[1] != self.machine

    async def forget(self, id: str) -> None:
        """Remove a finished job's folder, so that the same id may run again. An unknown id is no error."""
        if (ending := self._doomed.get(id)) is not None:
            await asyncio.wait([ending])
        await self._ask("forget", job=id)

    async def kill(self, id: str) -> bool:
        """End a job's process group with SIGTERM, and SIGKILL half a second later; wait until it has ended.

        Returns False if no such job ran.
        """
        return bool((await self._ask("kill", job=id)).fields["killed"])

    async def end(self, id: str) -> None:
        """End a job as `kill` does. Raises HostError: `busy` where it lost its lease at any time until its end."""
        ending = self._doomed.get(id)
        lost = await asyncio.shield(ending) if ending is not None else None
        if lost is None:
            lost = (await self._ask("kill", job=id)).fields["lost"]
        if lost:
            raise HostError("busy", f"{self.name}: {lost}")

    async def read(self, path: str, limit: int) -> bytes:
        """Read a whole file below the host's root, by absolute or relative path.

        Raises HostError: too_large for a file over `limit` bytes, not_found, refused.
        """
        return (await self._ask("read", path=path, limit=limit)).body

    async def running(self) -> list[str]:
        """List the ids of the jobs that run, whoever started them."""
        return [str(id) for id in (await self._ask("running")).fields["jobs"]]

    async def clean(self, older_than_s: float, keep_bytes: int) -> None:
        """Remove finished jobs and content that nobody has used for `older_than_s` seconds.

        Of the rest the least recently used are removed until the host's folder has at most `keep_bytes`.
        """
        await self._ask("clean", older_than_s=older_than_s, keep_bytes=keep_bytes)
        self._content.forget()

    async def probe(self) -> probe.HostFacts:
        """Find out what the host is and has. It takes as long as its compilers need to print their versions."""
        facts = (await self._ask("facts")).fields
        id = f"probe-{uuid4().hex}"
        said = await self.job(JobSpec(id, probe.script(self.cuda_home, self.leases), probe.LIMIT_S))
        await self.forget(id)
        return probe.facts(facts, said.stdout.decode(errors="replace"), self.skew_s, self.rtt_s)

    async def device_status(self, devices: Sequence[str], gpus: bool) -> dict[str, Telemetry]:
        """Return what these devices do right now, by their ids: two round trips, one without `gpus`.

        It does not disturb measurements.
        """
        said = await self.run(device_status.script(), device_status.LIMIT_S) if gpus else None
        figures = device_status.figures(said)
        pids = [one.pid for seen in figures.values() for one in seen.computes]
        owners = (await self._ask("holders", devices=list(devices), pids=pids)).fields
        return device_status.telemetry(devices, figures, owners, self.tolerate, time.time(), self.skew_s)

    def _frames(self, link: Link, spec: JobSpec, seen: Mapping[Stream, Tail] | None) -> AsyncGenerator[Frame]:
        """Start the job, or with `seen` continue to follow it where that ends; return its frames."""
        if seen is not None:
            return link.follow("follow", job=spec.id, offsets={stream: tail.end for stream, tail in seen.items()})
        reads = (*self.reads, self.cuda_home) if self.cuda_home else self.reads
        script = spec.script.encode()
        fields = job_fields(spec, self.holder, self.tolerate, reads, self.writes)
        return link.follow("job", script + spec.stdin, script=len(script), **fields)

    def _heed(self, claim: Claim, notes: list[dict[str, Any]]) -> None:
        for note in notes:
            if (reason := waiting(note)) is not None:
                claim.waits(f"{self.name}: {reason}" if reason else "")

    def _doom(self, id: str) -> None:
        """Kill a job that nobody waits for any more: now, or as soon as the link is up again."""

        async def end() -> str | None:
            with contextlib.suppress(HostError):  # the link needs a person: the job's own time limit ends it
                return str((await self._ask("kill", job=id)).fields["lost"])
            return None

        task = asyncio.create_task(end(), name=f"ends {id} on {self.name}")
        self._doomed[id] = task
        task.add_done_callback(lambda ended: self._doomed.pop(id) if self._doomed.get(id) is ended else None)

    async def _result(self, id: str, end: dict[str, Any], tails: Mapping[Stream, Tail], asked: bool) -> JobResult:
        if end["free"] < NO_SPACE:
            # Whatever its own failure, a full disk is reported first; its output may be cut short without an error.
            # Forgotten, so that it can run when there is space.
            await self.forget(id)
            raise HostError("no_space", f"{self.name}: the disk was full when job {id} ended with {end['rc']}")
        stdout, stdout_cut = tails["stdout"].take()
        stderr, stderr_cut = tails["stderr"].take()
        return JobResult(
            id, end["rc"], stdout, stderr, end["seconds"], end["reason"], end["cached"] and not asked, stdout_cut,
            stderr_cut, end["token"], end["taint"], end["lease_lost"],
        )  # fmt: skip
