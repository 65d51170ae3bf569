"""kpd review, approve, decline: a person looks at a candidate before it is built."""

from argparse import ArgumentParser, Namespace

from kpd.cli.ask import command, workspace
from kpd.cli.outcome import OK
from kpd.cli.text import narrate


def arguments(parser: ArgumentParser) -> None:
    if parser.get_default("verb") == "review":
        parser.add_argument("switch", choices=("on", "off"), help="whether candidates wait for you")
        parser.add_argument("run", nargs="?", metavar="RUN", help="a run's id; the active one if left out")
        return
    parser.add_argument("iteration", nargs="?", metavar="ITER", help="r3.7; the one that waits if left out")
    if parser.get_default("verb") == "decline":
        parser.add_argument("--reason", metavar="TEXT", help="what the agent should know of it when it next proposes")


def execute(args: Namespace) -> int:
    ws = workspace(args)
    if args.verb == "review":
        on = args.switch == "on"
        run = command(ws, "review", on=on, run=args.run)["run"]
        how = "wait for kpd approve or kpd decline before they are built" if on else "are built without asking"
        narrate(f"candidates of {run} {how}")
    elif args.verb == "approve":
        done = command(ws, "approve", iteration=args.iteration)
        narrate(f"{done['run']}.{done['iteration']} is approved: it is built next")
    else:
        done = command(ws, "decline", iteration=args.iteration, reason=args.reason)
        narrate(f"{done['run']}.{done['iteration']} is declined; its agent reads that when it next proposes")
    return OK
