"""kpd cases: prints how many times as fast as the baseline the incumbent and the best candidate are in each case."""

from argparse import ArgumentParser, Namespace
from typing import Any

from kpd.cli.ask import query, workspace
from kpd.cli.exit_codes import OK
from kpd.cli.parser import add_json
from kpd.cli.terminal_text import clean, columns, narrate, out, out_json, table
from kpd.model.verdicts import Speedup
from kpd.text.gains import column, times

HEAD = ("CASE", "WEIGHT", "INCUMBENT", "BEST", "OF")


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("run", nargs="?", metavar="RUN", help="a run's id (default: the newest run)")
    add_json(parser)


def execute(args: Namespace) -> int:
    answer = query(workspace(args), "cases", run=args.run)
    if args.json:
        out_json(answer)
        return OK
    if not answer["cases"]:
        narrate("no candidate has been timed in this run yet, or an older kpd timed them; kpd show has their times")
        return OK
    rows = [_row(case, answer["incumbent"]) for case in clean(answer["cases"])]
    out(*table(HEAD, rows, columns(), right="WEIGHT"))
    narrate(f"speed-ups over the baseline of {answer['run']}, the slowest case of the incumbent first")
    if answer["dispatch"] is not None:
        narrate(f"with the best candidate of each case, at most {times(answer['dispatch'])} the incumbent's speed")
    return OK


def _row(case: dict[str, Any], incumbent: int | None) -> tuple[str, ...]:
    best = str(case["best"])
    return case["case"], f"{case['weight']:g}", _cell(case, str(incumbent)), _cell(case, best), f"iteration {best}"


def _cell(case: dict[str, Any], number: str) -> str:
    found = case["speedups"].get(number)
    return "1×" if found is None else column(Speedup(**found))
