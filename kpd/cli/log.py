"""kpd log: lists a run's iterations with their verdicts, and follows new ones."""

import asyncio
import json
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from kpd.cli import labels
from kpd.cli.ask import query, workspace
from kpd.cli.exit_codes import OK, USAGE, CliError
from kpd.cli.halts import Halts, now, waiting_at_most
from kpd.cli.parser import add_json, add_timeout, nearest
from kpd.cli.terminal_text import columns, cut, line, narrate, out, out_json, pad
from kpd.model import codec
from kpd.model.deploying import goes_on
from kpd.model.events import Event
from kpd.model.facts.iterations import IterationEnded
from kpd.model.facts.runs import RunEnded
from kpd.model.fold import fold
from kpd.model.run import Run
from kpd.model.state import State
from kpd.subscription import Client
from kpd.text import json_views, numbers
from kpd.text.deployments import headline
from kpd.text.endings import of_run, run_ended
from kpd.text.foreign import visible
from kpd.text.preparing import headline as phase_told
from kpd.workspace.paths import Workspace

WIDTHS = (8, 18, 12, 26, 9)
HEAD = ("ITER", "OUTCOME", "SCORE", "SPEED-UP", "AGENT", "MEMO")


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("run", nargs="?", metavar="RUN", help="a run's id (default: the newest run)")
    parser.add_argument("-f", "--follow", action="store_true", help="print iterations as they end, until the run ends")
    parser.add_argument("--near-misses", action="store_true", help="only gains beyond doubt, but below min_gain_pct")
    add_timeout(parser)
    add_json(parser)


def execute(args: Namespace) -> int:
    if args.timeout is not None and not args.follow:
        raise CliError("--timeout limits the waiting of --follow", "add --follow")
    ws = workspace(args)
    status = query(ws, "status")
    runs = list(status["runs"])
    if args.run is not None and args.run not in runs:
        raise CliError(f"no run {args.run!r}", nearest(args.run, runs[-10:]) or "kpd run TASK queues one")
    run_id = args.run or (runs[-1] if runs else None)
    if run_id is None:
        narrate("no run yet; kpd run TASK queues one")
        if args.json and not args.follow:
            out_json({"run": None, "iterations": []})
        return OK
    state = State()
    for event in recorded(ws, run_id):
        state = fold(state, event)
    run = state.runs[run_id]
    head = _head(status["tasks"].get(run.task, {}))
    wanted = [it for it in run.iterations if it.near_miss or not args.near_misses]
    if args.follow:
        _tell(run, [it.number for it in wanted if it.outcome is not None], args.json, head)
        if goes_on(state, run):
            if reason := status["held"]:
                narrate(f"the queue is held: {line(reason)}; kpd resume releases it")
            if said := now(run):
                narrate(said)
            asyncio.run(_follow(ws, state, run_id, args))
    elif args.json:
        out_json({"run": run_id, "iterations": [json_views.iteration(it) for it in wanted]})
    else:
        _tell(run, [it.number for it in wanted], False, head)
        for phase in run.phases:
            if phase.result is not None:  # the one under way is told below
                narrate(line(phase_told(phase)))
        why = f", {of_run(run)}" if run.over else ""
        told = f"{run_id} of {run.task}: {labels.run_state(json_views.run(run))}{why}"
        narrate(line(told) if run.over else now(run) or line(told))
        for card in state.deployments_of(run):
            narrate(line(headline(card)))
    return OK


async def _follow(ws: Workspace, state: State, run_id: str, args: Namespace) -> None:
    """Tell of the run's iterations, and of why it does not go on, until it ends. Raises DaemonError, CliError."""
    async with waiting_at_most(args.timeout, run_id):
        await _tell_until_its_end(ws, state, run_id, args.json, args.near_misses)


async def _tell_until_its_end(ws: Workspace, state: State, run_id: str, as_json: bool, near: bool) -> None:
    halts = Halts(run_id)
    async for event in follow(ws, state.seq):
        state = fold(state, event)
        if said := halts.say(event.fact):
            narrate(said)
        run = state.runs[run_id]
        match event.fact:
            case IterationEnded(run=of, iteration=number) if of == run_id:
                ended = run.iteration(number)
                if not near or (ended is not None and ended.near_miss):
                    _tell(run, [number], as_json)
            case RunEnded(run=of, cause=cause) if of == run_id:
                narrate(f"{run_id} {labels.run_state(json_views.run(run))}: {line(run_ended(cause))}")
        if not goes_on(state, run):
            return


def _head(card: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of the columns, with the unit of the task's scores, which are each of a contest of its own."""
    score = cut(f"{line(labels.unit(card))} THEN", WIDTHS[HEAD.index("SCORE")])
    return tuple(score if name == "SCORE" else name for name in HEAD)


def _tell(run: Run, numbers: list[int], as_json: bool, head: tuple[str, ...] = ()) -> None:
    limit = columns()
    if head and not as_json:
        out(row(head, limit))
    for it in run.iterations:
        if it.number in numbers:
            brief = json_views.iteration(it)
            out(json.dumps(brief) if as_json else row(cells(run.id, brief, it.number == run.incumbent), limit))


def cells(run_id: str, it: dict[str, Any], incumbent: bool) -> tuple[str, ...]:
    """Return one iteration as the cells of a row; * marks the incumbent."""
    name = f"{run_id}.{it['number']}{'*' if incumbent else ''}"
    gain = "" if it["outcome"] == "baseline" else labels.gain(it["verdict"])
    why = it["reason"] if it["outcome"] in ("failed", "infra") and it["reason"] else it["memo"]
    return name, labels.outcome(it), numbers.number(it["score"]), gain, it["agent"], why


def row(texts: tuple[str, ...], limit: int | None) -> str:
    """Format a row with fixed columns, so that later rows line up with earlier ones."""
    fixed = [pad(visible(text), cells, name == "SCORE") for text, cells, name in zip(texts, WIDTHS, HEAD, strict=False)]
    full = "  ".join([*fixed, line(texts[-1])])
    return cut(full, limit).rstrip() if limit else full.rstrip()


PAGE = 1000
SILENCE_S = 60.0
"""How long a daemon may be silent: on a loaded machine it can be slow, and nobody needs this output at once."""


def event_of(entry: dict[str, Any]) -> Event:
    """Read an event from an answer of the daemon. Raises CodecError where a newer kpd wrote it."""
    return Event(entry["seq"], entry["at"], codec.fact_from(entry["kind"], json.dumps(entry["body"])))


def recorded(ws: Workspace, run: str | None = None, after: int = 0) -> Iterator[Event]:
    """Yield the events in the log, oldest first, only those of `run` if given. Raises DaemonError."""
    while True:
        page = query(ws, "events", after=after, limit=PAGE, **({"run": run} if run else {}))
        yield from map(event_of, page)
        if len(page) < PAGE:
            return
        after = page[-1]["seq"]


def run_of(ws: Workspace, status: Mapping[str, Any], name: str) -> Run:
    """Return a run as its events make it. Raises CliError where `status` does not know it, DaemonError."""
    if name not in status["runs"]:
        newest = next(reversed(status["runs"]), "")
        raise CliError(f"no run {name!r}", f"the newest is {newest}" if newest else "kpd run TASK queues one", USAGE)
    state = State()
    for event in recorded(ws, name):
        state = fold(state, event)
    return state.runs[name]


async def follow(ws: Workspace, after: int) -> AsyncIterator[Event]:
    """Yield every event after `after`, then each new one, without end. Raises DaemonError."""
    async with Client(ws.socket, "cli", read_only=True, live="none", silence_s=SILENCE_S) as client:
        async for message in client.messages(after):
            if isinstance(message, State):
                # This client is too far behind for single events: read them from the log.
                while after < message.seq:
                    for entry in await client.query("events", after=after, limit=PAGE):
                        yield event_of(entry)
                        after = entry["seq"]
            elif isinstance(message, Event) and message.seq > after:
                yield message
                after = message.seq
