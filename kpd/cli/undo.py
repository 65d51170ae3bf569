"""kpd undo: take back the last accept or rollback; once more, and it holds again."""

from argparse import ArgumentParser, Namespace

from kpd.cli.ask import command, workspace
from kpd.cli.outcome import OK
from kpd.cli.text import narrate


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("run", nargs="?", metavar="RUN", help="a run's id; the active one if left out")


def execute(args: Namespace) -> int:
    done = command(workspace(args), "undo", run=args.run)
    narrate(f"{done['run']}.{done['iteration']} is the incumbent again; kpd undo takes that back")
    return OK
