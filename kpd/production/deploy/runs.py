"""Builds and runs a project's program under a change, and then its own check of what that has left."""

from collections.abc import Callable, Mapping

from kpd.model.deployments import DeployCause
from kpd.model.projects import ChangeRecord, ProgramRun
from kpd.production.place import NOT_BEGUN, NOT_NOTED, OpenChange
from kpd.production.program import PlaceError

OLD, NEW = "A", "B"
TOLD = 600  # characters of a build's last words in the journal
SAID = 8000  # of them for who mends it
AS_IT_IS: Mapping[str, Mapping[str, str]] = {OLD: {}}
"""No binaries are put before a run: the program as it lies there."""


class TakenBack(Exception):
    """The error that a change cannot stay: the cause, and what it is about."""

    def __init__(self, cause: DeployCause, about: str = "") -> None:
        super().__init__(f"{cause}: {about}")
        self.cause: DeployCause = cause
        self.about = about


class RunFails(Exception):
    """The error that the program, or its check, did not end well. `side` says whose binaries it had."""

    def __init__(self, run: ProgramRun, checks: bool) -> None:
        super().__init__(f"it ends with {run.rc}: {run.said.strip()}")
        self.side = run.side
        self.checks = checks


async def ran(
    change: OpenChange, order: str = OLD, sides: Mapping[str, Mapping[str, str]] = AS_IT_IS, check: bool = True
) -> list[ProgramRun]:
    """Run the program once for each letter of `order`, then the project's `verify` with the last side's binaries.

    Raises RunFails, HostError, PlaceError.
    """
    project = change.place.project
    runs = await change.timed(order, sides, project.run, project.outputs)
    if runs[-1].rc != 0:
        raise RunFails(runs[-1], checks=False)
    if check and project.verify:
        (checked,) = await change.timed(order[-1], sides, project.verify)
        if checked.rc != 0:
            raise RunFails(checked, checks=True)
    return runs


async def built(change: OpenChange, failed: DeployCause, output: Callable[[str, bytes], None] | None = None) -> None:
    """Build, and look at what the build has left. Raises TakenBack, PlaceError, HostError."""
    result = await change.build(output)
    said = (result.stdout + result.stderr).decode(errors="replace").strip()
    if result.rc in (NOT_BEGUN, NOT_NOTED):
        raise PlaceError("ended", said[-TOLD:])
    if result.rc != 0:
        raise TakenBack(failed, f"{result.reason or f'it ends with {result.rc}'}: {said[-SAID:]}")
    missing = [path for path, sha in binaries(change.record).items() if not sha]
    if missing:
        raise TakenBack(failed, f"it does not make {missing[0]}")
    if change.record.touched:
        raise TakenBack("touched", change.record.touched[0])


def binaries(record: ChangeRecord) -> dict[str, str]:
    """Return the hashes of the binaries that the last build of a change has left, by path."""
    return {entry.path: entry.wrote[-1] for entry in record.entries if entry.kind == "binary"}
