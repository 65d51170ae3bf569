"""kpd rules: what kpd concludes from a profile, and when."""

from argparse import ArgumentParser, Namespace

from kpd.cli.ask import query, workspace
from kpd.cli.outcome import OK
from kpd.cli.parser import add_json
from kpd.cli.text import clean, columns, out, out_json, wrapped


def arguments(parser: ArgumentParser) -> None:
    add_json(parser)


def execute(args: Namespace) -> int:
    rules = query(workspace(args), "rules")
    if args.json:
        out_json(rules)
        return OK
    for rule in clean(rules):
        out(f"{rule['id']} ({rule['severity']})")
        for text in (*wrapped(rule["finding"], columns(), "    "), *wrapped(f"→ {rule['action']}", columns(), "    ")):
            out(text)
    return OK
