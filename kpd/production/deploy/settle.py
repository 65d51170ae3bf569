"""Says what became of deployments whose process ended before it could: the host knows, or restores now."""

from kpd.model.deployments import Deployment
from kpd.model.projects import ChangeRecord
from kpd.production.deploy.deploy import recheck_of
from kpd.production.place import ProjectPlace, left_changed
from kpd.workspace.deployments import DeploymentJournal, DeploymentRunning, OpenDeployment


async def settle(place: ProjectPlace, journal: DeploymentJournal) -> list[Deployment]:
    """End every open deployment: restore what is still changed, and note how it ended. The caller holds the journal.

    Return them. Raises HostError, PlaceError: then they stay open.
    """
    waiting = [one for one in journal.all() if one.state == "open"]
    if not waiting:
        return []
    changes = {change.id: change for change in await place.changes()}
    found = [await _settled(place, OpenDeployment(journal.folder, one.number), changes) for one in waiting]
    for one in found:
        journal.taken_back(one)
    return found


async def settle_if_free(place: ProjectPlace, journal: DeploymentJournal) -> bool:
    """Settle where no other process deploys; return whether one does. Raises HostError, PlaceError."""
    if any(one.state == "open" for one in journal.all()):
        try:
            with journal.locked():
                await settle(place, journal)
        except DeploymentRunning:
            return True
    return False


async def _settled(place: ProjectPlace, opened: OpenDeployment, changes: dict[str, ChangeRecord]) -> Deployment:
    now = opened.now
    if recheck_of(now.change) in changes:  # its lease would be in the way of the next deployment
        await place.restore(recheck_of(now.change))
    change = changes.get(now.change)
    if change is not None and change.state in ("open", "restoring", "blocked"):
        restored = await place.restore(change.id)
        change = restored if restored is not None and restored.id == change.id else change
    if change is not None and change.state == "committed":
        return opened.close(state="deployed", cause=None, about="")
    cause = now.cause or "cut"
    if change is None:
        return opened.close(state="failed", cause=cause)
    if (left := left_changed(change)) is not None:
        return opened.close(state="failed", cause="conflict", about=left)
    return opened.close(state="rolled_back", cause=cause)
