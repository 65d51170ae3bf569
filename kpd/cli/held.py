"""kpd held: lists what waits for a person: candidates to be reviewed, flagged winners, changes of production files."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any

from kpd.cli import labels
from kpd.cli.ask import query, workspace
from kpd.cli.exit_codes import OK
from kpd.cli.parser import add_json
from kpd.cli.terminal_text import clean, columns, narrate, out, out_json, wrapped


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("run", nargs="?", metavar="RUN", help="a run's id (default: all runs)")
    add_json(parser)


def execute(args: Namespace) -> int:
    """Print what waits, each with its flags and the verbs that decide; on stderr where nothing does."""
    status = query(workspace(args), "status")
    found = [(run, it) for run in status["runs"].values() if args.run in (None, run["id"]) for it in _waiting(run)]
    cards = [one for one in status["deployments"] if one["waits"] and args.run in (None, one["deployment"]["run"])]
    if args.json:
        out_json([*({"run": run["id"], **it} for run, it in found), *cards])
    elif not found and not cards:
        narrate("nothing waits for a person")
    else:
        out(*(text for run, it in found for text in lines(run["id"], clean(it), columns())))
        out(*(text for card in cards for text in wrapped(clean(card)["text"], columns())))
    return OK


def _waiting(run: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the run's candidates that wait for a review, and its winners that are held."""
    return [*(it for it in run["open"] if it["review"] == "waits"), *run["held"]]


def lines(run_id: str, it: dict[str, Any], limit: int | None) -> Iterator[str]:
    """Yield an iteration that waits: its gain and memo, what was found, and what to do."""
    gain = f"  {labels.gain(it['verdict'])}" if it["verdict"] else ""
    yield from wrapped(f"{run_id}.{it['number']}{gain}  {it['memo']}", limit)
    for flag in it["flags"]:
        yield from wrapped(f"  ! {flag['text']}", limit)
    yield from wrapped(f"  {labels.approval(run_id, it) or labels.held(run_id, it)}", limit)
