"""Brings a winner into its program phase by phase; whatever does not end in a gain of the program is taken back."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from statistics import median

from kpd.claude.errors import OverBudget, Unavailable
from kpd.hosts.errors import HostError
from kpd.measure.judge import BadSamples
from kpd.measure.samples import samples_to_json
from kpd.model.deployments import DeployCause, Deployment, DeployState, Phase
from kpd.production.check import changed
from kpd.production.deploy.fixing import KINDS, Fixer
from kpd.production.deploy.integrate import Integrated, NotIntegrated, integrate
from kpd.production.deploy.launches import launch_sums, no_gain_reason
from kpd.production.deploy.runs import TOLD, RunFails, TakenBack, binaries, built, ran
from kpd.production.deploy.trial import PROGRAM, ProgramTrial
from kpd.production.deploy.winner import AcceptedKernel
from kpd.production.place import LEASE_S, OpenChange, ProjectPlace, left_changed
from kpd.production.program import PlaceError, PlaceErrorKind
from kpd.workspace.deployments import OpenDeployment
from kpd.workspace.run_files import digest
from kpd.workspace.sections import SectionError

OF_PLACE: dict[PlaceErrorKind, DeployCause] = {
    "changed": "conflict",
    "ended": "ended",
    "taken": "taken",
    "corrupt": "corrupt",
}


@dataclass(frozen=True, slots=True)
class Telling:
    """What a person is told meanwhile, and asked: `approves` is given the diff of the production file.

    It may take long, and a change that is under way has to be renewed meanwhile.
    """

    approves: Callable[[str], Awaitable[bool]]
    phase: Callable[[Phase], None] = lambda phase: None
    output: Callable[[str, bytes], None] | None = None
    quads: Callable[[int], None] = lambda done: None


async def approved(diff: str) -> bool:
    """Approve any change."""
    return True


@contextmanager
def phase(journal: OpenDeployment, telling: Telling, name: Phase) -> Iterator[None]:
    """Journal a phase before and after it; an error leaves it without an end."""
    journal.begins(name)
    telling.phase(name)
    yield
    journal.ends(name)


class Deploying:
    """One deployment under way: its place, its journal, and what is told of it."""

    def __init__(
        self, place: ProjectPlace, journal: OpenDeployment, telling: Telling, lease_s: float = LEASE_S,
        fixer: Fixer | None = None,
    ) -> None:  # fmt: skip
        self.place = place
        self.journal = journal
        self.telling = telling
        self.lease_s = lease_s
        self.fixer = fixer
        self._reference: dict[str, str] | None = None

    async def deploy(self, winner: AcceptedKernel) -> Deployment:
        """Deploy the winner, or leave the program as it was. Raises OSError where nothing can be journalled.

        Where the host is lost the deployment stays open: the host restores, and the next command says what it did.
        """
        project = self.place.project
        try:
            with self._phase("gate"):
                self.journal.note(alone=winner.sure_pct)
            if winner.sure_pct < project.min_gain_pct:
                return self.journal.close(state="gated", cause="gate")
            if not (project.verify or project.outputs):
                return self.journal.close(state="refused", cause="no_check")
            with self._phase("integrate"):
                files, context = await self._read(project.files), await self._read(project.context)
                integrated = integrate(files, project.kernel, winner.baseline, winner.candidate, context)
                self.journal.keep("diff", integrated.diff)
            if not await self.telling.approves(integrated.diff):
                return self.journal.close(state="refused", cause="not_approved")
            return await self._changed(integrated)
        except NotIntegrated as err:
            state: DeployState = "gated" if err.what == "same" else "refused"
            return self.journal.close(state=state, cause="forbidden", forbidden=err.what, about=err.name)
        except SectionError as err:
            return self.journal.close(state="refused", cause="forbidden", forbidden="unreadable", about=str(err))
        except PlaceError as err:
            return self.journal.close(state="failed", cause=OF_PLACE[err.kind], about=err.message)
        except HostError as err:
            begun = self.journal.now.phase not in ("gate", "integrate")
            self.journal.note(cause="host", about=err.message)
            return self.journal.now if begun else self.journal.close(state="failed")

    def _phase(self, name: Phase) -> AbstractContextManager[None]:
        return phase(self.journal, self.telling, name)

    async def _read(self, paths: Sequence[str]) -> dict[str, bytes]:
        """Read files of the project as they are on the host. Raises HostError."""
        return {path: await self.place.source(path) for path in paths}

    async def _changed(self, integrated: Integrated) -> Deployment:
        """Change the program under the lease; keep it, or have it restored and run it once more."""
        taken: TakenBack | None = None
        self.journal.begins("begin")
        self.telling.phase("begin")
        id, purpose = self.journal.now.change, self.journal.purpose
        async with self.place.changing(purpose, self.lease_s, id) as change:
            self.journal.ends("begin")
            try:
                await self._tried(change, integrated)
            except TakenBack as err:
                taken = err
            except PlaceError as err:
                taken = TakenBack(OF_PLACE[err.kind], err.message)
            if taken is not None:
                self.journal.note(cause=taken.cause, about=taken.about[-TOLD:])
                self.journal.begins("restore")
                self.telling.phase("restore")
        if taken is None:
            return self.journal.close(state="deployed")
        self.journal.ends("restore")
        if (left := left_changed(change.record)) is not None:
            return self.journal.close(state="failed", cause="conflict", about=left)
        with self._phase("recheck"):
            rechecked = await self._rechecked()
        return self.journal.close(state="rolled_back", rechecked=rechecked)

    async def _tried(self, change: OpenChange, integrated: Integrated) -> None:
        """Build, verify and time the program with the new kernel, and commit.

        Raises TakenBack, PlaceError, HostError.
        """
        if {entry.path: entry.sha for entry in change.record.entries}[integrated.path] != digest(integrated.before):
            raise TakenBack("conflict", integrated.path)
        with self._phase("baseline"):
            await built(change, "program_fails", self.telling.output)
            if differ := changed(change.record):
                raise TakenBack("stale_binary", differ[0])
            await change.keep_copies()
            old = binaries(change.record)
        while True:
            try:
                trial = await self._put(change, integrated, old)
                break
            except TakenBack as err:
                integrated = await self._mended(change, integrated, old, err)
        new = trial.new
        with self._phase("time"):
            try:
                verdict, samples = await trial.timed(
                    self._reference or {}, self.place.project.min_gain_pct, self.telling.quads
                )
            except BadSamples as err:
                raise TakenBack("unsteady", str(err)) from err
            self.journal.keep("timing.json", samples_to_json(samples))
            wall_us = median(time for one in samples for time in one.cases[PROGRAM].a_ns) / 1000
            self.journal.note(verdict=verdict, wall_us=wall_us)
            sums = await launch_sums(trial)
            self.journal.note(launches=sums)
            if sums is not None and not verdict.accepted:
                least, most = self.place.project.min_gain_pct, verdict.gain.high
                self.journal.note(reason=no_gain_reason(sums, wall_us, least, most))
        if not verdict.accepted:
            raise TakenBack("no_gain")
        with self._phase("commit"):
            for path, sha in new.items():  # the last quad has left the old ones
                await change.put_kept(path, sha)
            self.journal.note(shas={**new, integrated.path: digest(integrated.after)})
            await change.commit()

    async def _put(self, change: OpenChange, integrated: Integrated, old: dict[str, str]) -> ProgramTrial:
        """Write the new source, build and verify it. Raises TakenBack, PlaceError, HostError."""
        with self._phase("put"):
            await change.put(integrated.path, integrated.after)
        with self._phase("build"):
            await built(change, "build", self.telling.output)
            await change.keep_copies()
            new = binaries(change.record)
        if not changed(change.record):
            raise TakenBack("same_binary", integrated.path)
        trial = ProgramTrial(change, old, new)
        with self._phase("verify"):
            self._reference = await trial.results()
        return trial

    async def _mended(self, change: OpenChange, broken: Integrated, old: dict[str, str], why: TakenBack) -> Integrated:
        """Have the file mended, and its change approved again, which may take hours: meanwhile the originals are back.

        Raises `why` where it is not mended, TakenBack, PlaceError, HostError.
        """
        if self.fixer is None or why.cause not in KINDS:
            raise why
        with self._phase("fix"):
            for path, sha in old.items():  # as when restoring: binaries first, so that a source is newer
                await change.put_kept(path, sha)
            await change.put(broken.path, broken.before)
            try:
                mended = await self.fixer.mend(broken, self.place.project.kernel, why)
            except (Unavailable, OverBudget, OSError) as err:
                raise TakenBack(why.cause, f"{why.about}\nnot mended: {err}") from err
            finally:
                self.journal.note(fixes=self.fixer.tries, spend=self.fixer.spent())
            self.journal.keep("diff", mended.diff)
        if not await self.telling.approves(mended.diff):
            raise TakenBack("not_approved")
        return mended

    async def _rechecked(self) -> bool | None:
        """Run the restored program once; return whether it gives its old result, None where nobody could look."""
        try:
            id = recheck_of(self.journal.now.change)
            async with self.place.changing("runs the restored program", self.lease_s, id) as change:
                (run,) = await ran(change)
        except (PlaceError, HostError) as err:
            self.journal.note(about=f"{self.journal.now.about}\nnot run again: {err.message}".strip())
            return None
        except RunFails:
            return False
        return self._reference in (None, run.outputs)


def recheck_of(change: str) -> str:
    """Return the id of the change under which the program is run again that this change has left restored."""
    return f"{change}-recheck"
