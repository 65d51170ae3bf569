"""kpd project watch: says whether a program in production is still what it was, and the way back where it is not."""

import time
from argparse import Namespace
from dataclasses import asdict

from kpd.cli.exit_codes import FAILED, INFRA, OK, CliError
from kpd.cli.project import at_place, known
from kpd.cli.project_deploy import journal_of
from kpd.cli.terminal_text import narrate, out, out_json
from kpd.model.projects import ProgramSight
from kpd.production.deploy.rollback import latest
from kpd.production.deploy.settle import settle_if_free
from kpd.production.place import ProjectPlace
from kpd.production.watch import ProgramChanging, ProgramFailed, drifted, expected, keep_sight, last_sight, sight
from kpd.text.foreign import visible
from kpd.text.projects import drift, way_back
from kpd.workspace.deployments import DeploymentJournal
from kpd.workspace.durations import duration
from kpd.workspace.paths import Workspace


def watch(ws: Workspace, args: Namespace) -> int:
    """Look once, or every so often until something has changed; return 1 then, and 3 where kpd itself changes it now.

    Raises CliError, HostError, PlaceError.
    """
    project = known(ws, args.name)[args.name]
    path, journal = ws.root / "refs" / f"{args.name}.watch.json", journal_of(ws, args.name)

    async def look(place: ProjectPlace) -> ProgramSight:
        await settle_if_free(place, journal)
        return await sight(place)

    try:
        every_s = duration(args.every) if args.every else 0.0
    except ValueError as err:
        raise CliError(f"--every: {err}", 'write "30m" or "1d"') from err
    again = args.again
    while True:
        before = None if again else last_sight(path)
        try:
            now = at_place(ws, project, look)
        except ProgramFailed as err:
            back = _back(journal, args.name)
            raise CliError(visible(f"{args.name} does not run: {err}"), back[0], FAILED) from err
        except ProgramChanging as err:
            if not every_s:
                message, remedy = f"kpd changes {args.name}: {err}", "watch it when that has ended"
                raise CliError(visible(message), remedy, INFRA) from err
            narrate(visible(f"kpd changes {args.name}: {err}; looks again in {args.every}"))
            time.sleep(every_s)
            continue
        again = False
        should = None if before is None else expected(before, journal.all())
        found = [] if should is None else list(drifted(should, now))
        if should is None or (not should.seconds and not found):
            keep_sight(path, now)
        if args.json:
            out_json({"name": args.name, "now": asdict(now), "drifted": [asdict(one) for one in found]})
        elif should is None:
            out(f"{args.name} is watched from now on; what it is now is in {visible(str(path))}")
        elif not found and not should.seconds:
            out(f"{args.name} is what kpd's deployment has left; its time is watched from now on")
        elif not found:
            out(f"{args.name} is what it was")
        else:
            out(*(f"! {visible(drift(one))}" for one in found), *(f"  {line}" for line in _back(journal, args.name)))
        if found or not every_s:
            return FAILED if found else OK
        narrate(f"looks again in {args.every}")
        time.sleep(every_s)


def _back(journal: DeploymentJournal, name: str) -> list[str]:
    """Say what a person can do."""
    last = latest(journal)
    return way_back(name, last.number if last is not None else None)
