"""kpd retry and kpd remeasure: what an iteration proposed once more, as an iteration of its own."""

from argparse import ArgumentParser, Namespace

from kpd.cli.ask import command, workspace
from kpd.cli.outcome import OK
from kpd.cli.text import narrate

HOW = {"retry": "once more", "remeasure": "once more, with as many processes as a verdict can use"}


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("iteration", metavar="ITER", help="r3.7, or 7 in the newest run")


def execute(args: Namespace) -> int:
    done = command(workspace(args), "again", iteration=args.iteration, thorough=args.verb == "remeasure")
    narrate(f"{done['run']}.{done['iteration']} is measured against the incumbent {HOW[args.verb]}")
    return OK
