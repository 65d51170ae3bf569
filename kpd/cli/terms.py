"""kpd steer, budget, agent: show and change notes, budget and agents of a run."""

import re
from argparse import ArgumentParser, Namespace
from typing import Any

from kpd.cli.ask import command, query, workspace
from kpd.cli.exit_codes import OK, CliError
from kpd.cli.operate import add_arguments, agents, given
from kpd.cli.parser import add_json, count
from kpd.cli.terminal_text import clean, columns, line, narrate, out, out_json, table
from kpd.operations.runs import SteerRun
from kpd.operations.terms import ChangeAgent, ChangeBudget
from kpd.text import numbers

RUN = re.compile(r"r\d+")


def arguments(parser: ArgumentParser) -> None:
    match parser.get_default("verb"):
        case "steer":
            add_arguments(parser, SteerRun)
            parser.add_argument("--withdraw", metavar="N", type=count, help="withdraw note N, unless it was read")
        case "budget":
            add_arguments(parser, ChangeBudget)
            add_json(parser)
        case _:
            what = f"{', '.join(agents())}; several take turns, as in claude,sweep"
            parser.add_argument("words", nargs="*", metavar="[RUN] AGENT[,AGENT]", help=what)
            add_arguments(parser, ChangeAgent, "run", "agent")


def execute(args: Namespace) -> int:
    return {"steer": _steer, "budget": _budget, "agent": _agent}[args.verb](args)


def _steer(args: Namespace) -> int:
    text = " ".join(args.text).strip()
    if args.withdraw is not None and args.note is not None:
        raise CliError("argument --withdraw: not allowed with argument --note", "see kpd steer --help")
    if args.withdraw is not None and text:
        raise CliError("--withdraw takes no text", f"kpd steer --note {args.withdraw} TEXT changes a note")
    if args.withdraw is None and not text:
        raise CliError("nothing to say", 'kpd steer "try wider loads"')
    op = SteerRun(text=text, note=args.note if args.withdraw is None else args.withdraw, run=args.run)
    done = command(workspace(args), op.name, **op.args())
    out(str(done["note"]))
    narrate(op.told(done))
    return OK


def _agent(args: Namespace) -> int:
    ws, said = workspace(args), list(args.words)
    run = said.pop(0) if said and RUN.fullmatch(said[0]) else None
    if len(said) > 1:
        raise CliError("agents that take turns are written with commas", f"kpd agent {','.join(said)}")
    op = ChangeAgent(run=run, agent=said[0] if said else None, model=args.model)
    if op.agent is not None or op.model is not None:
        narrate(line(op.told(command(ws, op.name, **op.args()))))
        return OK
    found = query(ws, "terms", run=run)
    model = f" with {line(found['model'])}" if found["model"] else ""
    out(f"{found['run']}: {line(found['agent'])}{model}")
    return OK


def _budget(args: Namespace) -> int:
    ws, change = workspace(args), given(args, ChangeBudget)
    changes = bool(change.keys() - {"run"})
    run = command(ws, ChangeBudget.name, **change)["run"] if changes else args.run
    found = query(ws, "terms", run=run)
    if args.json:
        out_json(found)
        return OK
    found = clean(found)
    narrate(
        f"the budget of {found['run']} ({found['status']}) is now:" if changes else f"the budget of {found['run']}:"
    )
    out(*table(("OF", "MOST", "SO FAR", "LEFT"), _rows(found), columns(), right="MOST SO_FAR LEFT"))
    return OK


def _rows(found: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    from msgspec import convert

    from kpd.model.spending import Spend, dollars
    from kpd.text.money import cost, rest

    most, left, spend = found["budget"], _left, convert(found["spend"], Spend)
    usd = (dollars(most["usd"]), rest(spend, most["usd"])) if most["usd"] else ("", "")
    return [
        ("iterations", str(most["iterations"]), str(found["counted"]), left(most["iterations"], found["counted"])),
        ("patience", str(most["patience"]), str(found["in_vain"]), left(most["patience"], found["in_vain"])),
        ("hours", *_hours(found, "hours", 1)),
        ("GPU hours", *_hours(found, "gpu_hours", 2)),
        ("dollars", usd[0], cost(spend), usd[1]),
        ("stop score", numbers.number(most["stop_score"]), numbers.number(found["score"]), ""),
        ("least gain, %", f"{most['min_gain_pct']:g}", "", ""),
        ("fix attempts", str(most["fix_attempts"]), "", ""),
    ]


def _hours(found: dict[str, Any], name: str, digits: int) -> tuple[str, str, str]:
    """Format a limit, what of it is used, and what is left."""
    most, used = found["budget"][name], found[name]
    return f"{most:g}" if most else "", f"{used:.{digits}f}", f"{max(most - used, 0.0):.{digits}f}" if most else ""


def _left(most: int, used: int) -> str:
    return str(max(most - used, 0))
