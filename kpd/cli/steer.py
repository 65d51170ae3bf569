"""kpd steer: a line for the agent, waiting until its next iteration reads it."""

from argparse import ArgumentParser, Namespace

from kpd.cli.ask import command, workspace
from kpd.cli.outcome import OK, CliError
from kpd.cli.parser import count
from kpd.cli.text import narrate, out


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("text", nargs="*", metavar="TEXT", help="what the agent should know or try")
    parser.add_argument("--run", metavar="RUN", help="a run's id; the active one if left out")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--note", metavar="N", type=count, help="put TEXT in place of note N, unless it was read")
    which.add_argument("--withdraw", metavar="N", type=count, help="take note N back, unless it was read")


def execute(args: Namespace) -> int:
    text = " ".join(args.text).strip()
    if args.withdraw is not None and text:
        raise CliError("--withdraw takes no text", f"kpd steer --note {args.withdraw} TEXT changes a note")
    if args.withdraw is None and not text:
        raise CliError("nothing to say", 'kpd steer "try wider loads"')
    note = args.note if args.withdraw is None else args.withdraw
    given = command(workspace(args), "steer", text=text, note=note, run=args.run)["note"]
    out(str(given))
    narrate(f"note {given} is withdrawn" if args.withdraw else f"note {given} waits for the next iteration")
    return OK
