"""kpd cost: prints the cost of models in tokens and dollars, of all runs, or of one by iteration, purpose and model.

Before that it prints the GPU hours of allocations of clusters.
"""

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any

import msgspec

from kpd.claude.errors import Unavailable
from kpd.claude.purse import CallBeside, calls_beside
from kpd.cli.ask import query, workspace
from kpd.cli.exit_codes import INFRA, OK, CliError
from kpd.cli.parser import add_json
from kpd.cli.terminal_text import clean, columns, narrate, out, out_json, table
from kpd.hosts.errors import HostError
from kpd.hosts.gpu_hours import DAY_S, GpuHours, Lent, hours_file, total
from kpd.model.spending import NOTHING, Spend, day_of, dollars
from kpd.text import money, numbers
from kpd.text.foreign import visible
from kpd.workspace.config import load_config

COUNTS = ("CALLS", "INPUT", "CACHE WRITE", "CACHE READ", "OUTPUT", "USD")
RIGHT = " ".join(name.replace(" ", "_") for name in COUNTS)
Told = dict[str, Any]


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("run", nargs="?", metavar="RUN", help="show one run in full (default: all runs)")
    add_json(parser)


def execute(args: Namespace) -> int:
    ws = workspace(args)
    answer = query(ws, "cost", run=args.run)
    try:
        beside = [] if args.run else calls_beside(ws.root)
        lent = [] if args.run else GpuHours(hours_file(ws)).read()
    except (Unavailable, HostError) as err:
        raise CliError(visible(err.message), err.remedy, INFRA) from err
    if args.json:
        out_json({**answer, "beside": [asdict(one) for one in beside], "allocations": [asdict(one) for one in lent]})
        return OK
    if args.run:
        _run(answer["runs"][0])
        if (hours := answer["gpu_hours"].get(args.run)) is not None:
            narrate(f"{hours:.2f} GPU hours of allocations")
        return OK
    if lent:
        _gpu_hours(lent, answer["gpu_hours"], time.time())
    if not answer["runs"] and not beside:
        if lent:
            return OK
        narrate("nothing yet; kpd run TASK --agent claude spends some")
        return OK
    _table(("RUN", "TASK"), (((run["run"], run["task"]), run["spend"]) for run in answer["runs"]))
    out("")
    if beside:
        by_purpose = _sums(beside, lambda one: (one.of, one.purpose))
        _table(("BESIDE RUNS", "PURPOSE"), ((of, asdict(spend)) for of, spend in by_purpose.items()))
        out("")
    days = {day: msgspec.convert(spend, Spend) for day, spend in answer["days"].items()}
    for one in beside:
        days[day_of(one.at)] = one.added_to(days.get(day_of(one.at), NOTHING))
    _table(("DAY (UTC)",), (((day,), asdict(spend)) for day, spend in sorted(days.items())))
    limits = load_config(ws).claude
    narrate(f"limits: {_limit(limits.max_usd_per_run)} a run, {_limit(limits.max_usd_per_day)} a day")
    return OK


def _gpu_hours(lent: Sequence[Lent], runs: dict[str, float], now: float) -> None:
    """Print the GPU hours that schedulers have lent, by host, account and user, today's (UTC) and all, and by run."""
    by: dict[tuple[str, str, str], list[Lent]] = {}
    for one in lent:
        by.setdefault((one.lender, one.account or "-", one.user), []).append(one)
    rows = [
        (*of, str(len(each)), f"{total(each, now, now - now % DAY_S):.2f}", f"{total(each, now):.2f}")
        for of, each in sorted(by.items())
    ]
    names = ("HOST", "ACCOUNT", "USER", "ALLOCATIONS", "GPU HOURS TODAY", "GPU HOURS")
    out(*table(names, clean(rows), columns(), right="ALLOCATIONS GPU_HOURS_TODAY GPU_HOURS"))
    out("")
    idle = max(total(lent, now) - sum(runs.values()), 0.0)
    shares = [(run, f"{hours:.2f}") for run, hours in (*runs.items(), ("no run", idle))]
    out(*table(("RUN", "GPU HOURS"), clean(shares), columns(), right="GPU_HOURS"))
    out("")


def _sums(calls: Iterable[CallBeside], by: Callable[[CallBeside], tuple[str, ...]]) -> dict[tuple[str, ...], Spend]:
    sums: dict[tuple[str, ...], Spend] = {}
    for one in calls:
        sums[by(one)] = one.added_to(sums.get(by(one), NOTHING))
    return sums


def _run(found: dict[str, Any]) -> None:
    for title, by in (("PURPOSE", "purposes"), ("MODEL", "models"), ("ITERATION", "iterations")):
        _table((title,), (((name,), spend) for name, spend in found[by].items()))
        out("")
    _table(("RUN",), [((found["run"],), found["spend"])])
    if found["phases"]:
        out("")
        rows = [((at, purpose), spend) for at, by in found["phases"].items() for purpose, spend in by.items()]
        _table(("BESIDE IT", "PURPOSE"), rows)
    if found["cut"]:
        narrate(
            f"~ {numbers.counted(found['cut'], 'call')} broke off: the service may bill more output than is counted"
        )
    if found["unseen"]:
        calls = numbers.counted(found["unseen"], "call")
        narrate(f"~ nobody saw the end of {calls}: counted with the most that could be spent, which is not what was")


def _table(names: tuple[str, ...], rows: Iterable[tuple[tuple[str, ...], Told]]) -> None:
    cells = [(*of, *counts(spend)) for of, spend in rows]
    out(*table((*names, *COUNTS), cells, columns(), right=RIGHT))


def counts(spend: Told) -> tuple[str, ...]:
    """Format calls, four kinds of tokens, and dollars."""
    usage = spend["usage"]
    tokens = (usage["input"], usage["cache_write"], usage["cache_read"], usage["output"])
    return (str(spend["calls"]), *(f"{count:,}" for count in tokens), money.cost(msgspec.convert(spend, Spend)))


def _limit(usd: float) -> str:
    return dollars(usd) if usd else "no limit"
