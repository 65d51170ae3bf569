"""kpd project history, rollback: what was deployed, and the way back."""

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime

from kpd.cli.ask import query
from kpd.cli.exit_codes import FAILED, INFRA, OK, USAGE, CliError
from kpd.cli.project import at_place, known
from kpd.cli.project_deploy import is_deployed, journal_of, remembered, telling, told
from kpd.cli.terminal_text import columns, narrate, out, out_json, table
from kpd.client import operator
from kpd.hosts.errors import HostError
from kpd.model import codec
from kpd.model.deployments import Deployment
from kpd.model.preparation import Phase
from kpd.production.deploy.rollback import latest, roll_back
from kpd.production.deploy.settle import settle, settle_if_free
from kpd.production.place import ProjectPlace
from kpd.production.program import PlaceError
from kpd.text import deployments, preparing
from kpd.text.foreign import visible
from kpd.workspace.deployments import DeploymentRunning
from kpd.workspace.paths import Workspace


def history(ws: Workspace, args: Namespace) -> int:
    """Print all deployments of a project; first those are ended, with their host, whose process is gone."""
    project = known(ws, args.name)[args.name]
    journal = journal_of(ws, args.name)
    code, busy = OK, False
    if any(one.state == "open" for one in journal.all()):
        try:
            busy = at_place(ws, project, lambda place: settle_if_free(place, journal))
        except (HostError, PlaceError) as err:
            code = INFRA
            narrate(f"what became of an open deployment is not known: {visible(err.message)}")
    remembered(ws, args.name)
    found, phases = journal.all(), list(_phases(ws, args.name))
    if args.json:
        before = [{"run": run, **asdict(one), "text": preparing.headline(one)} for run, one in phases]
        out_json({"deployments": [asdict(one) for one in found], "phases": before})
        return code
    if rows := [deployments.row(one, _when(one.at), busy) for one in found]:
        out(*table(("N", "WHEN", "STATE", "OF", "ALONE", "PROGRAM"), rows, columns(), right="N"))
    out(*(visible(f"{one.number}: {said}") for one in found if (said := deployments.after(one))))
    if phases:
        told = [(run, *map(visible, preparing.row(one, _when(one.at)))) for run, one in phases]
        out(*([""] if rows else []), *table(("RUN", "PHASE", "WHEN", "TOOK", "COST", "CAME TO"), told, columns()))
    if not rows:
        narrate(f"nothing was deployed; kpd project deploy {args.name} RUN does")
    return code


def _phases(ws: Workspace, name: str) -> Iterator[tuple[str, Phase]]:
    """Yield the phases before the first iterations of the project's runs with the run's id, the oldest first."""
    for run in query(ws, "status")["runs"].values():
        if run["deploy"] == name:
            yield from ((run["id"], one) for one in codec.decode(codec.encode(run["phases"]), tuple[Phase, ...]))


def _when(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")


def rollback(ws: Workspace, args: Namespace) -> int:
    """Take a deployment back; return 1 where somebody has changed its files since.

    Raises CliError, HostError, PlaceError.
    """
    project = known(ws, args.name)[args.name]
    journal = journal_of(ws, args.name)

    async def work(place: ProjectPlace) -> Deployment:
        await settle(place, journal)
        known = {one.number: one for one in journal.all()}
        of = latest(journal) if args.number is None else known.get(args.number)
        if of is None or of.state != "deployed" or of.of is not None or of.taken_back is not None:
            which = "nothing is deployed" if args.number is None else f"deployment {args.number} is not in place"
            raise CliError(which, f"kpd project history {args.name}", USAGE)
        return await roll_back(place, journal, of, operator(), telling())

    try:
        with journal.locked():
            one = at_place(ws, project, work)
    except DeploymentRunning as err:
        raise is_deployed(args.name, journal) from err
    code = told(args, one)
    if one.cause == "later" and not args.json:
        out(*(f"    {visible(path)} was changed since, and is left as it is" for path in one.about.split("\n")))
        out(f"    its change is in {visible(str(journal.folder / f'{one.of:04d}.diff'))}")
    remembered(ws, args.name)
    return FAILED if one.cause == "later" else code
