"""kpd events: prints the event log, one event per line."""

import asyncio
import json
from argparse import ArgumentParser, Namespace
from datetime import datetime
from typing import Any

from kpd.cli.ask import query, workspace
from kpd.cli.exit_codes import OK
from kpd.cli.parser import count
from kpd.cli.terminal_text import columns, cut, line, out
from kpd.text.foreign import visible
from kpd.workspace.paths import Workspace

NEWEST = 50


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--run", metavar="RUN", help="show only events of this run")
    parser.add_argument("--after", metavar="SEQ", type=int, help="show events after this number")
    parser.add_argument(
        "--limit", metavar="N", type=count, default=NEWEST, help=f"show at most N events (default: {NEWEST})"
    )
    parser.add_argument("-f", "--follow", action="store_true", help="wait for new events")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")


def execute(args: Namespace) -> int:
    ws = workspace(args)
    of_run = {"run": args.run} if args.run else {}
    if args.after is None:
        entries = query(ws, "log", limit=args.limit, **of_run)
    else:
        entries = query(ws, "events", after=args.after, limit=args.limit, **of_run)
    for entry in entries:
        _tell(entry, args.json)
    if args.follow:
        asyncio.run(_follow(ws, args, entries[-1]["seq"] if entries else args.after or 0))
    return OK


async def _follow(ws: Workspace, args: Namespace, after: int) -> None:
    from kpd.cli.log import follow
    from kpd.text import json_views

    async for event in follow(ws, after):
        entry = json_views.event(event)
        if args.run is None or entry["body"].get("run") == args.run:
            _tell(entry, args.json)


def _tell(entry: dict[str, Any], as_json: bool) -> None:
    out(json.dumps(entry) if as_json else brief(entry, columns()))


def brief(entry: dict[str, Any], limit: int | None) -> str:
    """Format an event as `#12  14:03:59  judged  r1.3  word: faster …`, cut to the terminal."""
    body = dict(entry["body"])
    where = ".".join(str(body.pop(key)) for key in ("run", "iteration") if key in body)
    rest = " ".join(f"{key}={_value(value)}" for key, value in body.items() if value not in (None, "", [], {}))
    clock = datetime.fromtimestamp(entry["at"]).strftime("%H:%M:%S")
    text = visible(f"{entry['seq']:>6}  {clock}  {entry['kind']:<18}  {where:<8}  {line(rest)}")
    return cut(text, limit) if limit else text


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
