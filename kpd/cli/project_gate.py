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
from kpd.workspace.deployments import GateAnswer, OpenDeployment
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
    yes = args.what == "approve"
    if yes and not _approves(args, opened, waits.asks):
        narrate(f"it still waits; kpd project decline {args.name} ends it")
        return FAILED
    opened.answer(GateAnswer(waits.asks, yes, operator()))
    out(f"deployment {waits.number} of {args.name} is {'approved' if yes else 'declined'}")
    return OK


def _approves(args: Namespace, opened: OpenDeployment, asks: str) -> bool:
    """Show the diff with the hash `asks`, and ask unless that is not wanted. Raises CliError."""
    diff = opened.shown
    if diff is None:
        message = f"the diff of deployment {opened.number} is not the one that waits"
        raise CliError(message, f"somebody has changed the file: kpd project decline {args.name}", FAILED)
    narrate(visible(diff))
    if args.diff is not None:
        if len(args.diff) < SHORTEST or not asks.startswith(args.diff):
            message = f"--diff names another change than the one that waits, {asks[:SHORTEST]}"
            raise CliError(message, "look at the diff above, and name its hash if you approve it", FAILED)
        return True
    if not args.yes and not sys.stdin.isatty():
        raise CliError("nobody here can say yes", f"call it on a terminal, or with --diff {asks[:SHORTEST]}", USAGE)
    return args.yes or asyncio.run(asked())
