"""A project's files on their host, which kpd may change for as long as it renews a lease."""

import asyncio
import contextlib
import secrets
import shlex
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import msgspec

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.hosts.job import JobResult, JobSpec, LeaseRequest
from kpd.measure import jobs
from kpd.model.projects import ChangeRecord, FoundProject, PlaceStatus, ProgramRun
from kpd.production.device import lease_for
from kpd.production.program import PLACES, PlaceError, PlaceProgram, shell_path
from kpd.workspace.projects import ProjectConfig
from kpd.workspace.run_files import digest

READ_S = 60.0
LEASE_S = 120.0
"""After so many seconds without a sign of life from kpd, the host restores the files by itself."""
RENEWALS = 4
"""How often a lease is renewed in its time."""
SPARE_S = 30.0
"""For a run's binaries to be put, beside its own limit."""
LOG = "log"
"""The file of a job's `out` that a program writes to."""
NOT_BEGUN = 97
"""The exit status of a build's job that was refused before the build began; 98: after it."""
NOT_NOTED = 98


def new_id() -> str:
    """Make an id of a change."""
    return secrets.token_hex(8)


class ProjectPlace:
    """The files of one project on its host. Every method raises HostError and PlaceError.

    `needed` are the ids of changes that may still be taken back: the host keeps their originals.
    """

    def __init__(
        self, host: Host, project: ProjectConfig, python: str = "python3", places: str = PLACES,
        needed: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.host = host
        self.needed = needed
        self.project = project
        self.program = PlaceProgram(host, python, project.root, places)
        self._lease: LeaseRequest | None = None

    async def lease(self) -> LeaseRequest:
        """Return the lease under which the project's program is run: nothing of kpd's measures there meanwhile."""
        if self._lease is None:
            self._lease = lease_for(self.project, (await self.host.probe())["gpus"])
        return self._lease

    async def status(self) -> PlaceStatus:
        """Look at the last change and at the files as they are now.

        This starts the host's switch again where a restart has ended it, and that restores then; nothing else changes.
        """
        return await self.program.ask("status", PlaceStatus)

    async def look(self) -> FoundProject:
        """Look at the files before any change. Raises HostError for what kpd could not change or restore."""
        project = self.project
        return await self.program.ask(
            "look", FoundProject, files=project.files, binary=project.binary, context=project.context,
            kernel=project.kernel.rpartition("::")[2],
        )  # fmt: skip

    async def source(self, path: str) -> bytes:
        """Read one of the project's files as it is on the host."""
        spec = JobSpec(f"place-reads-{new_id()}", f"cat -- {shell_path(f'{self.project.root}/{path}')}", READ_S)
        said = await self.host.job(spec)
        await self.host.forget(spec.id)
        if said.rc != 0:
            words = said.reason or said.stderr.decode(errors="replace").strip()
            raise HostError("not_found", f"{self.host.name}: {path} cannot be read: {words}")
        return said.stdout

    async def restore(self, id: str = "") -> ChangeRecord | None:
        """Restore what the last change has changed, whoever holds it, or only if it has this id.

        Returns the last change; None where there was none.
        """
        return (await self.program.ask("restore", _Last, id=id)).change

    async def changes(self) -> list[ChangeRecord]:
        """Return all changes that the host remembers, oldest first."""
        return (await self.program.ask("history", _History)).changes

    async def kept(self) -> set[str]:
        """Return the hashes of the files of which the host has copies."""
        return (await self.program.ask("kept", _Kept)).kept

    @contextlib.asynccontextmanager
    async def changing(
        self, purpose: str, lease_s: float = LEASE_S, id: str | None = None
    ) -> AsyncIterator["OpenChange"]:
        """Hold the files while the block runs. At its end they are restored, unless the change was committed."""
        project, id = self.project, id or new_id()
        begun = await self.program.ask(
            "begin", ChangeRecord, id=id, files=project.files, binary=project.binary, build_dir=project.build_dir,
            holder=self.host.holder, purpose=purpose, lease_s=lease_s, needed=self.needed,
        )  # fmt: skip
        change = OpenChange(self, begun, lease_s)
        renewing = asyncio.create_task(change.keep(), name=f"holds {project.root}")
        try:
            yield change
        finally:
            renewing.cancel()
            await asyncio.wait([renewing])
            if change.record.state != "committed":
                restoring = asyncio.create_task(self.restore(id))
                restored = await asyncio.shield(restoring)
                change.record = restored or change.record


class OpenChange:
    """A change that is under way, with its last `record`. `lost` says why it has ended before its time, if it has."""

    def __init__(self, place: ProjectPlace, record: ChangeRecord, lease_s: float) -> None:
        self.place = place
        self.record = record
        self.lease_s = lease_s
        self.lost: PlaceError | HostError | None = None
        self._jobs = 0

    async def keep(self) -> None:
        """Renew the lease until the change has ended."""
        while self.lost is None:
            await asyncio.sleep(self.lease_s / RENEWALS)
            try:
                await self._ask("renew", lease_s=self.lease_s)
            except (PlaceError, HostError) as err:
                self.lost = err

    async def put(self, path: str, content: bytes) -> None:
        """Write one of the project's files. Raises PlaceError (changed) where somebody else has changed it."""
        host = self.place.host
        tree = await host.stage({"content": content})
        await self._ask("put", path=path, content=f"{host.root}/trees/{tree}/content", sha=digest(content))

    async def build(self, said: Callable[[str, bytes], None] | None = None) -> JobResult:
        """Run the project's build. What it leaves as binaries is kpd's to restore; `said` gets its output.

        Its exit status is NOT_BEGUN or NOT_NOTED where the change had ended before it, or ended meanwhile. The lease is
        renewed before and after, which also starts the host's switch again if that was killed.
        """
        await self._ask("renew", lease_s=self.lease_s)
        project, words = self.place.project, self.place.program.words
        before, after = [await words(op, id=self.record.id) for op in ("building", "built")]
        folder = shlex.quote(f"{self.record.root}/{project.cwd}")
        script = (
            'asked() { case "$1" in \'{"ok"\'*) ;; *) echo "$1" >&2; false;; esac; }\n'
            f'asked "$({before})" || exit {NOT_BEGUN}\n'
            f"(cd {folder} && exec /bin/sh -c {shlex.quote(project.build)})\nrc=$?\n"
            f'asked "$({after})" || exit {NOT_NOTED}\nexit $rc\n'
        )
        self._jobs += 1
        spec = JobSpec(f"place-{self.record.id}-{self._jobs}", script, project.limit_build_s, env=project.env)
        result = await self.place.host.job(spec, said)
        await self.place.host.forget(spec.id)
        try:
            await self._ask("renew", lease_s=self.lease_s)
        except PlaceError as err:
            self.lost = err
        found = (await self.place.status()).change
        self.record = found if found is not None and found.id == self.record.id else self.record
        return result

    async def keep_copies(self) -> None:
        """Have the host keep the files as they are now, so that they can be put again by their hashes."""
        await self._ask("keep")

    async def put_kept(self, path: str, sha: str) -> None:
        """Write one of the files with what the host has kept under this hash. Raises PlaceError, HostError."""
        folder = (await self.place.status()).folder
        await self._ask("put", path=path, content=f"{folder}/originals/{sha}", sha=sha)

    async def timed(
        self, order: str, sides: Mapping[str, Mapping[str, str]], command: str, outputs: Sequence[str] = ()
    ) -> list[ProgramRun]:
        """Run a command of the project once for each letter of `order`, each in a process of its own.

        Before each run the kept binaries of its side are put anew: `sides` are their hashes by path. The first run that
        fails is the last one. Nothing of the link is between the runs, and nothing of kpd's measures on the device.
        """
        return (await self._run(order, sides, command, outputs))[0]

    async def logged(self, command: str, variable: str, most: int) -> tuple[ProgramRun, bytes]:
        """Run a command of the project once; return what it wrote to the file that the variable names, if anything.

        Raises HostError (too_large) where that has more than `most` bytes.
        """
        (run,), written = await self._run("A", {"A": {}}, command, log=(variable, most))
        return run, written

    async def _run(
        self, order: str, sides: Mapping[str, Mapping[str, str]], command: str, outputs: Sequence[str] = (),
        log: tuple[str, int] = ("", 0),
    ) -> tuple[list[ProgramRun], bytes]:  # fmt: skip
        project, host = self.place.project, self.place.host
        words = await self.place.program.words(
            "timed", id=self.record.id, order=order, sides=sides, command=command, cwd=project.cwd,
            limit_s=project.limit_run_s, outputs=outputs,
        )  # fmt: skip
        variable, most = log
        if variable:
            words = f'mkdir -p out && : > out/{LOG} && {variable}="$PWD/out/{LOG}" {words}'
        self._jobs += 1
        limit_s = len(order) * (project.limit_run_s + SPARE_S)
        id, lease = f"place-{self.record.id}-{self._jobs}", await self.place.lease()
        result = await host.job(JobSpec(id, words, limit_s, env=project.env, lease=lease))
        try:
            if result.taint:
                raise HostError("busy", f"{host.name}: {result.taint}")
            runs = self.place.program.answer(_Runs, result.rc, result.stdout, result.stderr).runs
            written = await host.read(jobs.out(host, id, LOG), most) if variable else b""
        finally:
            await host.forget(id)
        return runs, written

    async def commit(self) -> None:
        """Keep the files as they are now."""
        await self._ask("commit")

    async def _ask(self, op: str, **given: Any) -> None:
        self.record = await self.place.program.ask(op, ChangeRecord, id=self.record.id, **given)


class _Last(msgspec.Struct):
    change: ChangeRecord | None


class _History(msgspec.Struct):
    changes: list[ChangeRecord]


class _Kept(msgspec.Struct):
    kept: set[str]


class _Runs(msgspec.Struct):
    runs: list[ProgramRun]


def left_changed(record: ChangeRecord) -> str | None:
    """Return which files a restored change has left because somebody else has changed them; None where none is."""
    return shlex.join(record.conflicts) if record.conflicts or record.state == "blocked" else None
