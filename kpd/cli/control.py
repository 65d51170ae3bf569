"""kpd pause, resume, skip, stop: the operator's hand on a run."""

from argparse import ArgumentParser, Namespace

from kpd.cli.ask import command, workspace
from kpd.cli.outcome import OK
from kpd.cli.text import narrate

DONE = {
    "pause": "is paused: the step under way is finished, then nothing starts; kpd resume goes on",
    "resume": "goes on",
    "skip": "goes on without the iteration that was under way",
    "stop": "is stopped; what was accepted stays",
}


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("run", nargs="?", metavar="RUN", help="a run's id; the active one if left out")


def execute(args: Namespace) -> int:
    done = command(workspace(args), args.verb, run=args.run)
    narrate(f"{done['run'] or 'the queue'} {DONE[args.verb]}")
    return OK
