"""Builds candidates on another host than the one that measures, where its compiler makes the same of them.

What it has built is put where it is measured as the result of a job of the same id, so all that comes after finds it
as if it had been built there: copied where that host sees the other's folder, else through this process. A build that
cannot be had so runs where it is measured.
"""

import asyncio
import io
import re
import tarfile
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host, JobResult, JobSpec
from kpd.hosts.preflight.probe import HostFacts
from kpd.hosts.shared_root import sees
from kpd.measure import jobs, seals
from kpd.measure.bench import Say
from kpd.measure.run_context import RunContext

LIMIT = 64 << 20
"""The most bytes of a file that goes through this process; what is larger is built again where it is measured."""
BROUGHT_S = 60.0
_LACKS = re.compile(rb"not found|No such file or directory|cannot execute|Killed")
"""What compilers and shells say where a file of the host, or its memory, may be missing: another host may have that."""
SAID = ".said"
BRING = f'out="$PWD/out"\ntar -xf - -C "$out" && cat "$out/{SAID}" >&2 && rm "$out/{SAID}" || exit 1\n{seals.TAKE}'


@dataclass(slots=True)
class Builds:
    """Where the candidates of a task are built for `host`, whose compiler has this `identity`.

    `identity_of` is that of another host's compiler, by its facts; it may raise HostError.
    """

    host: Host
    where: RunContext
    identity: str
    identity_of: Callable[[HostFacts], str]
    _known: dict[int, bool] = field(default_factory=dict)  # whether the compiler is the same, by the builder's machine
    _sees: dict[tuple[int, int], bool] = field(default_factory=dict)  # whether it sees the other's folder, by machines

    async def run(
        self, id: str, script: Callable[[Host], str], files: Mapping[str, bytes], limit_s: float, say: Say | None
    ) -> JobResult:
        """Run the job of a build, whose `script` is for a host that has the tree of these files. Raises HostError."""
        builder = self.host.builder
        if builder is not None:
            why = f"{builder.name} is not there"
            if builder.up:
                try:
                    async with asyncio.timeout(limit_s + BROUGHT_S):
                        found = await _while_up(builder, self._brought(builder, id, script, files, limit_s, say))
                    if found is not None:
                        return found
                except HostError as err:
                    why = str(err)
                except TimeoutError:
                    why = f"{builder.name} does not answer in time"
            if say is not None:
                say(f"built where it is measured: {why}\n")
        return await jobs.run(self.host, self.where.spec(id, script(self.host), limit_s), say)

    async def _brought(
        self, builder: Host, id: str, script: Callable[[Host], str], files: Mapping[str, bytes], limit_s: float,
        say: Say | None,
    ) -> JobResult:  # fmt: skip
        """Build on the other host, and bring what came of it. Raises HostError."""
        if builder.machine not in self._known:
            self._known[builder.machine] = self.identity_of(await builder.probe()) == self.identity
        if not self._known[builder.machine]:
            message = f"{builder.name} has another compiler or CPU"
            raise HostError("no_compiler", message, "ask for nodes of the same kind")
        await builder.stage(files)
        built = await jobs.run(builder, RunContext().spec(id, script(builder), limit_s), say)
        if built.reason or built.rc == 127 or (built.rc != 0 and _LACKS.search(built.stderr)):
            await builder.forget(id)
            raise HostError(
                "no_compiler", f"{builder.name} lacks a file, memory or time for it: {jobs.tail(built.stderr)}"
            )
        if built.rc != 0:
            return built
        hashes = seals.taken(built.stdout)
        pair = self.host.machine, builder.machine
        if pair not in self._sees:
            self._sees[pair] = await sees(self.host.run, builder.run, builder.root)
        if self._sees[pair]:
            copy = replace(self.where, confined=False).spec(id, _copying(builder, id, hashes), BROUGHT_S, built.stderr)
            if (copied := await self._as_built(copy, hashes)) is not None:
                return replace(built, cached=built.cached and copied.cached)
        content = {name: await builder.read(jobs.out(builder, id, name), LIMIT) for name in hashes}
        packed = _packed({**content, SAID: built.stderr})
        brought = await self._as_built(self.where.spec(id, BRING, BROUGHT_S, packed), hashes)
        if brought is None:
            raise HostError("corrupt", f"{self.host.name}: what {builder.name} has built came changed")
        return replace(built, cached=built.cached and brought.cached)

    async def _as_built(self, spec: JobSpec, hashes: Mapping[str, str]) -> JobResult | None:
        """Run the job that puts the files there; return None, and forget it, where they do not have these hashes."""
        done = await jobs.run(self.host, spec)
        if seals.taken(done.stdout) == hashes:
            return done
        await self.host.forget(spec.id)
        return None


def _copying(builder: Host, id: str, names: Iterable[str]) -> str:
    """Return a script that copies these files of a build, and says what its stdin has, which is what the build said."""
    folder = jobs.words([jobs.out(builder, id, "")])
    return f'out="$PWD/out"\ncat >&2\ncd {folder} && cp -- {jobs.words(names)} "$out" || exit 1\n{seals.TAKE}'


def _packed(files: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


async def _while_up(host: Host, work: Coroutine[Any, Any, JobResult]) -> JobResult | None:
    """Return what comes of work on a host that is up; None where its link breaks before. Raises HostError."""
    task = asyncio.ensure_future(work)
    broken = asyncio.ensure_future((await host.linked()).broken.wait())
    try:
        await asyncio.wait((task, broken), return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        for each in (task, broken):
            each.cancel()
        with suppress(asyncio.CancelledError, HostError):
            await task
