"""kpd project watch: says whether a program in production is still what it was, and the way back where it is not."""

import time
from argparse import Namespace
from dataclasses import asdict

from kpd.cli.exit_codes import FAILED, OK, CliError
from kpd.cli.project import at_place, known
from kpd.cli.project_deploy import journal_of
from kpd.cli.terminal_text import narrate, out, out_json
from kpd.production.watch import ProgramFailed, drifted, keep_sight, last_sight, sight
from kpd.text.foreign import visible
from kpd.text.projects import drift, way_back
from kpd.workspace.durations import duration
from kpd.workspace.paths import Workspace


def watch(ws: Workspace, args: Namespace) -> int:
    """Look once, or every so often until something has changed; return 1 then.

    Raises CliError, HostError, PlaceError.
    """
    project = known(ws, args.name)[args.name]
    path = ws.root / "refs" / f"{args.name}.watch.json"
    try:
        every_s = duration(args.every) if args.every else 0.0
    except ValueError as err:
        raise CliError(f"--every: {err}", 'write "30m" or "1d"') from err
    again = args.again
    while True:
        before = None if again else last_sight(path)
        again = False
        try:
            now = at_place(ws, project, sight)
        except ProgramFailed as err:
            back = _back(ws, args.name)
            raise CliError(visible(f"{args.name} does not run: {err}"), back[0], FAILED) from err
        found = list(drifted(before, now)) if before is not None else []
        if before is None:
            keep_sight(path, now)
        if args.json:
            out_json({"name": args.name, "now": asdict(now), "drifted": [asdict(one) for one in found]})
        elif before is None:
            out(f"{args.name} is watched from now on; what it is now is in {visible(str(path))}")
        elif not found:
            out(f"{args.name} is what it was")
        else:
            out(*(f"! {visible(drift(one))}" for one in found), *(f"  {line}" for line in _back(ws, args.name)))
        if found or not every_s:
            return FAILED if found else OK
        narrate(f"looks again in {args.every}")
        time.sleep(every_s)


def _back(ws: Workspace, name: str) -> list[str]:
    """Say what a person can do."""
    deployments = journal_of(ws, name).all()
    numbers = [one.number for one in deployments if one.state == "deployed" and one.of is None and not one.taken_back]
    return way_back(name, numbers[-1] if numbers else None)
