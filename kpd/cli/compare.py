"""kpd compare: compares built tools with no tools in interleaved runs, and shows what that has found."""

import asyncio
import time
from argparse import ArgumentParser, Namespace
from typing import Any

import msgspec

from kpd.cli.ask import command, planned_workspace, query, workspace
from kpd.cli.daemon import ensure_daemon
from kpd.cli.exit_codes import INTERRUPTED, OK, USAGE, CliError
from kpd.cli.init import make_first
from kpd.cli.operate import add_arguments, given
from kpd.cli.parser import add_json
from kpd.cli.run import held, task_name
from kpd.cli.terminal_text import clean, columns, narrate, out, out_json, table, wrapped
from kpd.model.comparisons import ComparisonStopped
from kpd.model.facts.runs import RunEnded
from kpd.model.spending import Spend
from kpd.model.verdicts import Speedup
from kpd.operations.comparisons import CompareTools, StopComparison
from kpd.text import money
from kpd.text.comparisons import SIDES
from kpd.text.gains import column, times
from kpd.workspace.paths import Workspace

HELP = """\
kpd compare TASK --plain --with TOOLS   runs of TASK without tools and with these, in a random order
kpd compare                             the comparisons, and how far they are
kpd compare show ID                     what the runs of one have shown
kpd compare stop ID                     end one early; then it proves nothing

docs/toolsmith.md says how it is done, and what the figures mean.
"""


def arguments(parser: ArgumentParser) -> None:
    parser.usage = "kpd compare [TASK --plain --with TOOLS …] [--json]\n       kpd compare {show,stop} ID"
    parser.epilog = HELP
    parser.add_argument("what", nargs="?", metavar="TASK", help="a task's name or folder")
    parser.add_argument("id", nargs="?", metavar="ID", help="show, stop: c1, c2, …")
    parser.add_argument("--plain", action="store_true", help="the other side has no built tools, as it always has")
    add_arguments(parser, CompareTools, "task")
    parser.add_argument("--wait", action="store_true", help="tell of each run as it ends, and print the report")
    add_json(parser)


def execute(args: Namespace) -> int:
    if args.what in ("show", "stop") and args.id is None:
        raise CliError(f"which comparison is to {args.what}?", "kpd compare lists them", USAGE)
    if args.what not in ("show", "stop") and args.id is not None:
        raise CliError(f"{args.id!r} is too much", "kpd compare --help", USAGE)
    match args.what:
        case None:
            return _list(workspace(args), args.json)
        case "show":
            return _show(workspace(args), args.id, args.json)
        case "stop":
            found = command(workspace(args), StopComparison.name, comparison=args.id)
            narrate(StopComparison(comparison=args.id).told(found))
            return OK
    return _begin(args)


def _begin(args: Namespace) -> int:
    """Queue a comparison; start the daemon if none runs."""
    if args.tools is None:
        raise CliError("with which tools?", f"kpd compare {args.what} --with TOOLS; kpd tools list names them", USAGE)
    ws = planned_workspace(args)
    op = CompareTools(**{**given(args, CompareTools), "task": task_name(ws, args.what)})
    make_first(ws)
    if ensure_daemon(ws):
        narrate("started the daemon, in the background; kpd shutdown ends it")
    found = command(ws, op.name, **op.args())
    id = str(found["comparison"])
    if not args.json:
        out(id)
    narrate(f"{op.told(found)}; the order is drawn with seed {found['seed']}")
    if reason := held(ws):
        narrate(f"{reason}; kpd resume releases it")
    if not args.wait:
        if args.json:
            out_json(found)
        narrate(f"kpd compare show {id} has what the runs have shown so far")
        return OK
    try:
        asyncio.run(_follow(ws, id))
    except KeyboardInterrupt:
        narrate(f"no longer waiting: {id} goes on. kpd compare show {id} shows it, kpd compare stop {id} ends it.")
        return INTERRUPTED
    return _show(ws, id, args.json)


async def _follow(ws: Workspace, id: str) -> None:
    """Tell of each run of the comparison that ends, until all have. Raises DaemonError."""
    from kpd.cli.log import follow

    told: set[str] = set()
    seq = query(ws, "status")["seq"]
    if _tell(ws, id, told):
        return
    async for event in follow(ws, seq):
        if isinstance(event.fact, RunEnded | ComparisonStopped) and await asyncio.to_thread(_tell, ws, id, told):
            return


def _tell(ws: Workspace, id: str, told: set[str]) -> bool:
    """Tell of the runs that have ended since; return whether the comparison is over."""
    found = clean(query(ws, "comparison", id=id))
    for one in found["runs"]:
        if one["over"] and one["run"] not in told:
            told.add(one["run"])
            narrate(f"{one['number']}/{len(found['order'])}  {one['run']}  {SIDES[one['side']]}  {_outcome(one)}")
    return bool(found["over"])


def _list(ws: Workspace, as_json: bool) -> int:
    found = query(ws, "comparisons")
    if as_json:
        out_json(found)
        return OK
    if not found:
        narrate("nothing was compared yet; kpd compare TASK --with TOOLS compares built tools with none")
        return OK
    heads = ("ID", "TASK", "AGENT", "ENDED", "NOW", "TOOLS")
    out(*table(heads, map(_row, clean(found)), columns(), right="ENDED"))
    return OK


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    now = one["now"] or ("over" if one["over"] else "waits")
    return one["id"], one["task"], one["agent"], f"{one['ended']}/{len(one['order'])}", now, ", ".join(one["shown"])


def _show(ws: Workspace, id: str, as_json: bool) -> int:
    found = query(ws, "comparison", id=id)
    if as_json:
        out_json(found)
        return OK
    out(*_report(clean(found), columns()))
    return OK


def _report(found: dict[str, Any], limit: int | None) -> list[str]:
    begun = time.strftime("%Y-%m-%d %H:%M", time.localtime(found["queued"]))
    budget = found["budget"]
    usd = f", ${budget['usd']:.2f}" if budget["usd"] else ""
    attempts = f"{budget['iterations']} {'attempt' if budget['iterations'] == 1 else 'attempts'}"
    lines = [
        f"{found['id']}: {found['task']} by {found['agent']}, with {', '.join(found['shown'])} or without",
        f"  {found['trials']} on each side, runs with {attempts}{usd}; {begun}, seed {found['seed']}",
        *wrapped(found["text"], limit, "  "),
        *(f"  kpd tools retire {one}" for one in found["shown"] if found["conclusion"] == "plain"),
        "",
    ]
    sides = ("SIDE", "ENDED", "VALID", "LOWEST", "MEDIAN", "HIGHEST")
    lines += table(sides, [_side(found[side]) for side in SIDES], limit, right="ENDED VALID LOWEST MEDIAN HIGHEST")
    if found["times"] is not None:
        lines += [
            "",
            f"with the tools    {found['times']['text']} as fast: the median of all pairs, and its 95 % interval",
            f"faster with them  in {100 * found['wins']:.0f} % of pairs, a tie as half",
        ]
    if found["p"] is not None:
        valid = "" if found["p_valid"] in (None, found["p"]) else f"; {found['p_valid']:.2g} of valid runs alone"
        least = f"at least {found['least_p']:.2g} with so many runs"
        lines.append(f"rank test         p = {found['p']:.2g}, {least}{valid}")
    used, ended = found["tools"]["used"], found["tools"]["ended"]
    lines += ["", f"tools were used before the accepted candidate in {used} of {ended} runs with them"]
    heads = ("NR", "RUN", "SIDE", "CALLS", "USED", "AGENT S", "COST", "SPEED-UP")
    lines += ["", *table(heads, map(_run, found["runs"]), limit, right="NR CALLS AGENT_S COST")]
    for one in found["runs"]:
        if one["invalid"]:
            lines += wrapped(f"{one['run']} does not count: {one['reason']}", limit)
    return lines


def _side(found: dict[str, Any]) -> tuple[str, ...]:
    ratios = ("" if found[name] is None else times(found[name]) for name in ("lowest", "median", "highest"))
    return SIDES[found["side"]], str(found["ended"]), str(found["valid"]), *ratios


def _run(one: dict[str, Any]) -> tuple[str, ...]:
    took = f"{one['seconds']:,.0f}", money.cost(msgspec.convert(one["spend"], Spend))
    used = "" if one["side"] == "plain" else "yes" if one["used"] else "no"
    scored = "invalid" if one["invalid"] else _outcome(one)
    return str(one["number"]), one["run"], SIDES[one["side"]], str(one["calls"]), used, *took, scored


def _outcome(one: dict[str, Any]) -> str:
    if one["speedup"] is not None:
        return column(Speedup(**one["speedup"]))
    return f"invalid: {one['reason']}" if one["over"] else "under way"
