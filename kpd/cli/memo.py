"""kpd memo: the operator's own words on an iteration."""

from argparse import ArgumentParser, Namespace

from kpd.cli.ask import command, workspace
from kpd.cli.outcome import OK
from kpd.cli.text import narrate, plain


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("iteration", metavar="ITER", help="r3.7, or 7 in the newest run")
    parser.add_argument("text", nargs="+", metavar="TEXT", help="what was tried, and why")


def execute(args: Namespace) -> int:
    command(workspace(args), "memo", iteration=args.iteration, text=" ".join(args.text))
    narrate(f"noted on {plain(args.iteration)}")
    return OK
