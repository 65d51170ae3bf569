"""Takes a deployment back: the files that were there before it, unless somebody has changed them since."""

import shlex

from kpd.hosts.errors import HostError
from kpd.model.deployments import Deployment
from kpd.production.deploy.deploy import OF_PLACE, Telling, phase
from kpd.production.deploy.runs import RunFails, ran
from kpd.production.place import LEASE_S, ProjectPlace, new_id
from kpd.production.program import PlaceError
from kpd.workspace.deployments import DeploymentJournal


def latest(journal: DeploymentJournal) -> Deployment | None:
    """Return the last deployment that is in place as far as the journal knows; None where none is."""
    found = [one for one in journal.all() if one.state == "deployed" and one.of is None and one.taken_back is None]
    return found[-1] if found else None


async def roll_back(
    place: ProjectPlace, journal: DeploymentJournal, of: Deployment, by: str, telling: Telling, lease_s: float = LEASE_S
) -> Deployment:
    """Put the files back that deployment `of` has replaced. Nothing is written where one is not what that had left.

    The caller holds the journal. Where the host is lost the rollback stays open: the next command says what it did.
    """
    opened = journal.begin(of.run, of.iteration, by, new_id(), of.number)
    try:
        with phase(opened, telling, "begin"):
            before = {change.id: change for change in await place.changes()}.get(of.change)
        if before is None:
            return opened.close(state="failed", cause="forgotten")
        async with place.changing(opened.purpose, lease_s, opened.now.change) as change:
            now = {entry.path: entry.sha for entry in change.record.entries}
            shas = of.shas or {}
            if other := [path for path, sha in shas.items() if now.get(path) != sha]:
                return opened.close(state="failed", cause="later", about="\n".join(other))
            old = {entry.path: entry.sha for entry in before.entries if entry.path in shas}
            kept = await place.kept()
            if gone := sorted(path for path, sha in old.items() if sha not in kept):
                return opened.close(state="failed", cause="forgotten", about=shlex.join(gone))
            with phase(opened, telling, "put"):
                for path in sorted(
                    old, key=lambda path: path in place.project.binary
                ):  # a binary is newer than its source
                    await change.put_kept(path, old[path])
            with phase(opened, telling, "verify"):
                await ran(change)
            with phase(opened, telling, "commit"):
                opened.note(shas=old)
                await change.commit()
    except RunFails as err:
        return opened.close(state="failed", cause="program_fails", about=str(err))
    except PlaceError as err:
        return opened.close(state="failed", cause=OF_PLACE[err.kind], about=err.message)
    except HostError as err:
        opened.note(cause="host", about=err.message)
        return opened.now
    closed = opened.close(state="deployed")
    journal.taken_back(closed)
    return closed
