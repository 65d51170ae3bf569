"""kpd status and kpd queue: show what runs where, what is queued, and what needs a person."""

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from typing import Any

from kpd.cli import labels
from kpd.cli.ask import query, workspace
from kpd.cli.exit_codes import OK
from kpd.cli.parser import add_json
from kpd.cli.terminal_text import clean, colours, columns, narrate, out, out_json, paint, table, wrapped
from kpd.text import numbers

NOTICES = 5
ENDED = 3


def status_arguments(parser: ArgumentParser) -> None:
    add_json(parser)


def status(args: Namespace) -> int:
    answer = query(workspace(args), "status")
    if args.json:
        out_json(answer)
        return OK
    out(*report(clean(answer), clock(answer), columns(), colours()))
    return OK


def clock(status: Mapping[str, Any]) -> float:
    """Return the current Unix time for the runs in an answer of `status`: a recording has its own."""
    return float(status["at"]) if status.get("playback") else time.time()


def whose(status: Mapping[str, Any], colour: bool) -> str:
    """Say what answered: a daemon, a recording, or the log because no daemon runs."""
    if playback := status.get("playback"):
        from kpd.model.playback import Playback

        label = Playback(**playback).label
        return f"▶ {label} · {playback['state']}, {playback['speed']}×, in {status['workspace']}"
    if status["pid"] is None:
        return paint(labels.NO_DAEMON, "yellow", colour)
    return f"● kpd {status['version']}, process {status['pid']}, {status['workspace']}"


def report(status: dict[str, Any], now: float, limit: int | None, colour: bool) -> Iterator[str]:
    """Yield the answer of `status` as lines; `now` is Unix time."""
    yield whose(status, colour)
    if status["held"]:
        yield from wrapped(f"{labels.HELD}: {status['held']}; kpd resume releases the queue", limit)
    for host in status["hosts"].values():
        link = "●" if host["link"] == "up" and status["pid"] is not None else "○"
        facts = [host["device"], host["compiler"], host["error"]]
        yield from wrapped(f"{link} {host['name']}: {', '.join(filter(None, facts)) or host['system']}", limit)
    yield from _runs(status, now, limit)
    for run in status["runs"].values():
        for it in run["held"]:
            yield from wrapped(f"⚑ {labels.held(run['id'], it)}", limit)
    for card in _in_production(status["deployments"]):
        yield from wrapped(f"{card['sign']['glyph']} {card['text']}", limit)
    for task in status["tasks"].values():
        if task["error"]:
            yield from wrapped(f"✗ task {task['name']}: {task['error']}", limit)
    for notice in status["notices"][-NOTICES:]:
        ago = numbers.duration(now - notice["at"])
        yield from wrapped(f"{labels.LEVELS[notice['level']]} {notice['text']} ({ago} ago)", limit)


def _in_production(cards: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the deployments that are under way or were cut off, and the last of each project."""
    last = {card["project"]: card for card in cards}
    return [card for card in cards if card["deployment"]["state"] == "open" or card in last.values()]


def _runs(status: dict[str, Any], now: float, limit: int | None) -> Iterator[str]:
    ended = [run for run in status["runs"].values() if run["status"] == "ended"][-ENDED:]
    live = [run for run in status["runs"].values() if run["status"] != "ended"]
    if not ended and not live:
        yield "no runs; kpd run TASK queues one"
        return
    yield ""
    yield from runs_table([*ended, *live], status["tasks"], now, limit, bool(status["held"]))
    yield ""


def runs_table(
    runs: list[dict[str, Any]], tasks: Mapping[str, dict[str, Any]], now: float, limit: int | None, held: bool = False
) -> list[str]:
    """Format runs in a table: state, used iterations, best against the baseline, what is under way or why it ended.

    `tasks` are the cards of their tasks, where known. `held` means that the whole queue is held.
    """
    rows = []
    for run in runs:
        spent = f"{run['counted']}/{run['budget']['iterations']}"
        doing = run["reason"] if run["status"] == "ended" else labels.now(run, now, held)
        won = best(run, tasks.get(run["task"], {})) + (" unchecked" if run["unchecked"] else "")
        what = f"{run['task']}, {run['name']}" if run["name"] else run["task"]
        rows.append((run["id"], labels.run_state(run, held), what, run["agent"], run["host"], spent, won, doing))
    head = ("RUN", "STATE", "TASK", "AGENT", "HOST", "ITER", "BEST", "NOW")
    return table(head, rows, limit, right="ITER")


def best(run: dict[str, Any], card: Mapping[str, Any]) -> str:
    """Format how many times as fast the incumbent is as the baseline; the baseline's score where nothing was faster."""
    found = run["best"]
    if run["headline"] is not None:
        return str(run["headline"]["text"])
    return "" if found is None or not found["score"] else f"{numbers.number(found['score'])} {labels.unit(card)}"


def queue_arguments(parser: ArgumentParser) -> None:
    add_json(parser)


def queue(args: Namespace) -> int:
    if args.json:
        out_json(query(workspace(args), "queue"))
        return OK
    answer = clean(query(workspace(args), "status"))
    if answer["pid"] is None or answer.get("playback"):
        narrate(whose(answer, colour=False))
    if answer["held"]:
        out(*wrapped(f"{labels.HELD}: {answer['held']}; kpd resume releases the queue", columns()))
    runs = [*answer["begun"], *answer["queued"]]
    if runs:
        out(*runs_table(runs, answer["tasks"], clock(answer), columns(), bool(answer["held"])))
    else:
        narrate("the queue is empty; kpd run TASK queues a run")
    return OK
