"""kpd skills: the skill files by the rule they belong to, or one of them in full."""

from argparse import ArgumentParser, Namespace

from kpd.cli.ask import query, workspace
from kpd.cli.outcome import OK
from kpd.cli.parser import add_json
from kpd.cli.text import clean, columns, out, out_json, table


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", metavar="SKILL", help="one of them; all in brief if left out")
    add_json(parser)


def execute(args: Namespace) -> int:
    ws = workspace(args)
    answer = query(ws, "skill", id=args.id) if args.id else query(ws, "skills")
    if args.json:
        out_json(answer)
    elif args.id:
        skill = clean(answer)
        out(f"**Signal**: {skill['signal']}\n\n{skill['body'].strip()}")
    else:
        rows = [(skill["id"], skill["signal"]) for skill in clean(answer)]
        for text in table(("SKILL", "SIGNAL"), rows, columns()):
            out(text)
    return OK
