"""kpd accept and kpd rollback: the operator says which iteration is the incumbent."""

from argparse import ArgumentParser, Namespace

from kpd.cli.ask import command, workspace
from kpd.cli.outcome import OK
from kpd.cli.text import narrate, plain


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("iteration", metavar="ITER", help="r3.7, or 7 in the newest run")
    if parser.get_default("verb") == "accept":
        parser.add_argument("--reason", metavar="TEXT", help="why, against the verdict; it stays in the log")
    else:
        parser.add_argument(
            "--force", action="store_true", help="even if the task folder holds an edit that was not measured"
        )


def execute(args: Namespace) -> int:
    ws = workspace(args)
    if args.verb == "accept":
        command(ws, "accept", iteration=args.iteration, reason=args.reason)
        narrate(f"{plain(args.iteration)} is the incumbent now, marked as accepted by hand")
    else:
        command(ws, "rollback", iteration=args.iteration, force=args.force)
        narrate(f"{plain(args.iteration)} is the incumbent again; its files are in the task folder")
    return OK
