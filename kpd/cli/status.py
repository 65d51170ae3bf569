"""kpd status: what runs where, what waits, and what needs a person."""

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any

from kpd.cli import words
from kpd.cli.ask import query, workspace
from kpd.cli.outcome import OK
from kpd.cli.parser import add_json
from kpd.cli.text import clean, colours, columns, out, out_json, paint, table, wrapped

NOTICES = 5
ENDED = 3


def arguments(parser: ArgumentParser) -> None:
    add_json(parser)


def execute(args: Namespace) -> int:
    answer = query(workspace(args), "status")
    if args.json:
        out_json(answer)
        return OK
    now = answer["at"] if answer.get("playback") else time.time()  # a recording has its own
    for text in report(clean(answer), now, columns(), colours()):
        out(text)
    return OK


def report(status: dict[str, Any], now: float, limit: int | None, colour: bool) -> Iterator[str]:
    """The answer of `status` as lines; `now` is Unix time."""
    if playback := status.get("playback"):
        from kpd.model.playback import Playback

        label = Playback(**playback).label
        yield f"▶ {label} · {playback['state']}, {playback['speed']}×, in {status['workspace']}"
    elif status["pid"] is None:
        yield paint("○ no daemon; kpd start, or kpd daemon to keep it in the foreground", "yellow", colour)
    else:
        yield f"● kpd {status['version']}, process {status['pid']}, {status['workspace']}"
    if status["held"]:
        yield from wrapped(f"⏸ held: {status['held']}; kpd resume releases the queue", limit)
    for host in status["hosts"].values():
        link = "●" if host["link"] == "up" and status["pid"] is not None else "○"
        facts = [host["device"], host["compiler"], host["error"]]
        yield from wrapped(f"{link} {host['name']}: {', '.join(filter(None, facts)) or host['system']}", limit)
    yield from _runs(status, now, limit)
    for task in status["tasks"].values():
        if task["error"]:
            yield from wrapped(f"✗ task {task['name']}: {task['error']}", limit)
    for notice in status["notices"][-NOTICES:]:
        ago = words.duration(now - notice["at"])
        yield from wrapped(f"{words.LEVELS[notice['level']]} {notice['text']} ({ago} ago)", limit)


def _runs(status: dict[str, Any], now: float, limit: int | None) -> Iterator[str]:
    ended = [run for run in status["runs"].values() if run["status"] == "ended"][-ENDED:]
    live = [run for run in status["runs"].values() if run["status"] != "ended"]
    if not ended and not live:
        yield "no runs; kpd run TASK queues one"
        return
    yield ""
    yield from runs_table([*ended, *live], now, limit)
    yield ""


def runs_table(runs: list[dict[str, Any]], now: float, limit: int | None) -> list[str]:
    """Runs in brief, one a line: state, spent budget, best against the baseline, what is under way or why it ended."""
    rows = []
    for run in runs:
        spent = f"{max(run['count'] - 1, 0)}/{run['budget']['iterations']}"
        doing = run["reason"] if run["status"] == "ended" else words.now(run, now)
        rows.append((run["id"], words.run_state(run), run["task"], run["agent"], run["host"], spent, best(run), doing))
    head = ("RUN", "STATE", "TASK", "AGENT", "HOST", "ITER", "BEST", "NOW")
    return table(head, rows, limit, right="ITER")


def best(run: dict[str, Any]) -> str:
    """The incumbent's time saved against the run's baseline, as scores."""
    found, baseline = run["best"], run["baseline"]
    if found is None or not found["score"]:
        return ""
    score = f"{words.number(found['score'])} µs"
    if baseline is None or not baseline["score"] or found["number"] == baseline["number"]:
        return score
    return f"{score}, {baseline['score'] / found['score']:.2f}x"
