"""Runs a project's program under a change, and then its own check of what that has left."""

from collections.abc import Mapping

from kpd.model.deployments import DeployCause
from kpd.model.projects import ProgramRun
from kpd.production.place import OpenChange

OLD, NEW = "A", "B"
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
