"""kpd run: queue one run, with the daemon if none runs, and with --wait see it to its end."""

import sys
from argparse import ArgumentParser, Namespace

from kpd.cli.ask import workspace_to_be
from kpd.cli.background import ensure_daemon
from kpd.cli.enqueue import add_options, enqueue, held, task_name
from kpd.cli.init import make_first
from kpd.cli.outcome import INFRA, INTERRUPTED, OK, CliError
from kpd.cli.parser import amount, count
from kpd.cli.text import narrate, out


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="a task's name or folder")
    add_options(parser)
    parser.add_argument("--patience", metavar="N", type=count, help="end after N attempts without an accepted one")
    parser.add_argument("--min-gain", dest="min_gain_pct", metavar="PCT", type=amount, help="accept from this gain on")
    parser.add_argument("--stop-score", metavar="X", type=amount, help="end once the score is this good")
    parser.add_argument("--usd", metavar="DOLLARS", type=amount, help="spend no more than this on models")
    parser.add_argument(
        "--wait", action="store_true", help="wait for the end: 0 improved, 1 failed, 2 no gain, 3 infrastructure"
    )


def execute(args: Namespace) -> int:
    ws = workspace_to_be(args)
    task = task_name(ws, args.task)
    make_first(ws)
    if ensure_daemon(ws):
        narrate("started the daemon, in the background; kpd shutdown ends it")
    run = enqueue(ws, args, task)
    out(run)
    sys.stdout.flush()
    reason = held(ws)
    if reason and args.wait:  # for a person to say, who need not be there
        raise CliError(reason, f"{run} stays queued, and begins in its turn after kpd resume", INFRA)
    if reason:
        narrate(f"{reason}; kpd resume releases it")
    if not args.wait:
        narrate(f"queued; kpd attach or kpd log -f {run} watches it")
        return OK
    import asyncio

    from kpd.cli.waiting import wait_for

    try:
        return asyncio.run(wait_for(ws, run))
    except KeyboardInterrupt:
        narrate(f"no longer waiting: {run} goes on. kpd attach watches it, kpd stop {run} ends it.")
        return INTERRUPTED
