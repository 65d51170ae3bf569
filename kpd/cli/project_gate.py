"""kpd project approve, decline: answer a deployment that waits for a person."""

import asyncio
import sys
from argparse import Namespace

from kpd.cli.exit_codes import FAILED, INFRA, OK, USAGE, CliError
from kpd.cli.project import known
from kpd.cli.project_deploy import asked, journal_of
from kpd.cli.terminal_text import narrate, out
from kpd.client import operator
from kpd.text.foreign import visible
from kpd.workspace.deployments import GateAnswer, OpenDeployment, ShownChange
from kpd.workspace.paths import Workspace

SHORTEST = 12
"""Letters of a hash that name one diff."""


def answered(ws: Workspace, args: Namespace) -> int:
    """Show the change that waits, and approve or decline exactly that. Raises CliError."""
    known(ws, args.name)
    journal = journal_of(ws, args.name)
    waits = next((one for one in journal.all() if one.state == "open" and one.asks), None)
    if waits is None:
        raise CliError(f"no deployment of {args.name} waits for you", f"kpd project history {args.name}", USAGE)
    if not journal.busy:
        message = f"deployment {waits.number} of {args.name} waits no more: its process is gone"
        raise CliError(message, f"kpd project history {args.name}", INFRA)
    opened = OpenDeployment(journal.folder, waits.number)
    if args.what == "decline":
        opened.answer(GateAnswer(waits.asks, False, operator()))
        out(f"deployment {waits.number} of {args.name} is declined")
        return OK
    shown = _shown(opened, args.name)
    if not _approves(args, shown):
        narrate(f"it still waits; kpd project decline {args.name} ends it")
        return FAILED
    if opened.now.asks != shown.hash:
        message = f"the change that you were shown, {shown.hash[:SHORTEST]}, waits no more: nothing is approved"
        raise CliError(message, f"kpd project approve {args.name} shows what waits now", FAILED)
    opened.answer(GateAnswer(shown.hash, True, operator()))
    out(f"deployment {waits.number} of {args.name} is approved: the change {shown.hash[:SHORTEST]}")
    return OK


def _shown(opened: OpenDeployment, name: str) -> ShownChange:
    """Show the diff of the change that waits. Raises CliError."""
    shown = opened.shown
    if shown is None:
        message = f"the diff of deployment {opened.number} is not the one that waits"
        raise CliError(message, f"somebody has changed the file: kpd project decline {name}", FAILED)
    narrate(visible(shown.diff))
    return shown


def _approves(args: Namespace, shown: ShownChange) -> bool:
    """Return whether the change that was shown is approved, and ask that unless it is said already. Raises CliError."""
    short = shown.hash[:SHORTEST]
    if args.diff is not None:
        if len(args.diff) < SHORTEST or not shown.hash.startswith(args.diff):
            message = f"--diff names another change than the one that waits, {short}"
            raise CliError(message, "look at the diff above, and name its hash if you approve it", FAILED)
        return True
    if not args.yes and not sys.stdin.isatty():
        raise CliError("nobody here can say yes", f"call it on a terminal, or with --diff {short}", USAGE)
    return args.yes or asyncio.run(asked())
