"""kpd budget: what a run may spend and what is left of it; with options, change that while it goes on."""

from argparse import ArgumentParser, Namespace
from dataclasses import fields
from typing import Any

from kpd.cli import words
from kpd.cli.ask import command, query, workspace
from kpd.cli.outcome import OK
from kpd.cli.parser import add_json, amount, count
from kpd.cli.text import clean, columns, narrate, out, out_json, table
from kpd.model.nouns import Budget
from kpd.model.spending import dollars


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("run", nargs="?", metavar="RUN", help="a run's id; the active one if left out")
    parser.add_argument("--iterations", metavar="N", type=count, help="attempts, not counting the baseline")
    parser.add_argument("--patience", metavar="N", type=count, help="end after N attempts without an accepted one")
    parser.add_argument("--min-gain", dest="min_gain_pct", metavar="PCT", type=amount, help="accept from this gain on")
    parser.add_argument("--stop-score", metavar="X", type=amount, help="end once the score is this good; 0: never")
    parser.add_argument("--usd", metavar="D", type=amount, help="spend no more than this on models; 0: no limit")
    parser.add_argument("--fix-attempts", metavar="N", type=count, help="how often a candidate goes back to be mended")
    add_json(parser)


def execute(args: Namespace) -> int:
    ws = workspace(args)
    options = [of.name for of in fields(Budget)]
    given = {name: value for name in options if (value := getattr(args, name)) is not None}
    run = command(ws, "budget", run=args.run, **given)["run"] if given else args.run
    found = query(ws, "terms", run=run)
    if args.json:
        out_json(found)
        return OK
    found = clean(found)
    narrate(f"the budget of {found['run']} ({found['status']}) is now:" if given else f"the budget of {found['run']}:")
    for text in table(("OF", "MOST", "SO FAR", "LEFT"), _rows(found), columns(), right="MOST SO_FAR LEFT"):
        out(text)
    return OK


def _rows(found: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    most, left = found["budget"], _left
    usd = (dollars(most["usd"]), dollars(max(most["usd"] - found["usd"], 0.0))) if most["usd"] else ("", "")
    return [
        ("iterations", str(most["iterations"]), str(found["counted"]), left(most["iterations"], found["counted"])),
        ("patience", str(most["patience"]), str(found["in_vain"]), left(most["patience"], found["in_vain"])),
        ("dollars", usd[0], dollars(found["usd"]), usd[1]),
        ("stop score", words.number(most["stop_score"]), words.number(found["score"]), ""),
        ("least gain, %", f"{most['min_gain_pct']:g}", "", ""),
        ("fix attempts", str(most["fix_attempts"]), "", ""),
    ]


def _left(most: int, used: int) -> str:
    return str(max(most - used, 0))
