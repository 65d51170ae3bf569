"""kpd move: a run that waits gets another place in the queue."""

from argparse import ArgumentParser, Namespace

from kpd.cli.ask import command, workspace
from kpd.cli.outcome import OK
from kpd.cli.text import narrate


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="a run that kpd queue shows as queued")
    parser.add_argument("to", choices=("up", "down", "top", "bottom"), help="by one place, or to either end")


def execute(args: Namespace) -> int:
    done = command(workspace(args), "move", run=args.run, to=args.to)
    narrate(f"{done['run']} is number {done['place']} in the queue")
    return OK
