"""kpd show and kpd diff: print one iteration in full, and what it changed."""

import json
from argparse import ArgumentParser, Namespace
from typing import Any

from kpd.cli import labels
from kpd.cli.ask import query, workspace
from kpd.cli.exit_codes import FAILED, OK, CliError
from kpd.cli.parser import add_json
from kpd.cli.report import advice, report
from kpd.cli.terminal_text import clean, colours, columns, narrate, out, out_json, paint, wrapped
from kpd.client import ask
from kpd.text.foreign import visible
from kpd.text.numbers import counted
from kpd.workspace.paths import Workspace

PROFILE_S = 1800.0
"""Limit in seconds for the profiler, which may first have to wait for a run on the same device."""


def show_arguments(parser: ArgumentParser) -> None:
    what = "r3.7, or 7 in the newest run; its newest iteration if left out"
    parser.add_argument("iteration", nargs="?", metavar="ITER", help=what)
    parser.add_argument(
        "--rederive", action="store_true", help="compute the verdict from timing.json again; exit with 1 if it differs"
    )
    parser.add_argument("--profile", choices=("full",), help="run the profiler again, with all its metrics")
    parser.add_argument("--prompt", action="store_true", help="show the agent's prompt, with the tokens of each block")
    add_json(parser)


def show(args: Namespace) -> int:
    ws = workspace(args)
    args.iteration = args.iteration or _newest(ws)
    if args.rederive:
        return _rederive(query(ws, "rederive", iteration=args.iteration), args.json)
    if args.prompt:
        from kpd.cli import prompts

        return prompts.show(ws, args.iteration, args.json)
    if args.profile:
        return _profile(
            ask(ws.socket, "command", "profile", {"iteration": args.iteration}, timeout=PROFILE_S), args.json
        )
    answer = query(ws, "show", iteration=args.iteration)
    if args.json:
        out_json(answer)
        return OK
    cards = {card["name"]: card for card in query(ws, "tasks")}
    shown = {**answer, "card": cards.get(answer["run"]["task"])}
    out(*report(clean(shown), columns(), colours()))
    return OK


def _newest(ws: Workspace) -> str:
    """Return the newest iteration of the newest run that has one. Raises CliError."""
    runs = query(ws, "status")["runs"].values()
    found = next((run for run in reversed(runs) if run["count"]), None)
    if found is None:
        raise CliError("no run has an iteration yet", "kpd run TASK queues a run")
    return f"{found['id']}.{found['count'] - 1}"


def _profile(answer: dict[str, Any], as_json: bool) -> int:
    if as_json:
        out_json(answer)
        return OK
    found = clean(answer)
    out(found["bottleneck"])
    cases = len({case for piece in found["advice"] for case in piece["cases"]})
    for piece in found["advice"]:
        out(*advice(piece, cases, columns()))
    out(f"{found['folder']}: {', '.join(found['files'])}")
    return OK


def _rederive(answer: dict[str, Any], as_json: bool) -> int:
    same = json.dumps(answer["recorded"], sort_keys=True) == json.dumps(answer["rederived"], sort_keys=True)
    if as_json:
        out_json({**answer, "same": same})
        return OK if same else FAILED
    for name, verdict in clean({"recorded": answer["recorded"], "rederived": answer["rederived"]}).items():
        told = (
            "none"
            if verdict is None
            else f"{verdict['word']}: {labels.gain(verdict)}, {counted(verdict['processes'], 'process')}"
        )
        out(*wrapped(f"{name:<11}{told}", columns()))
    out("✓ the same verdict" if same else "✗ another verdict: the budget or this kpd's judge has changed since")
    return OK if same else FAILED


def diff_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("iteration", metavar="ITER", help="r3.7, or 7 in the newest run")
    parser.add_argument("against", nargs="?", metavar="ITER", help="compare with this iteration (default: its parent)")
    add_json(parser)


def diff(args: Namespace) -> int:
    answer = query(workspace(args), "diff", iteration=args.iteration, against=args.against)
    if args.json:
        out_json(answer)
        return OK
    narrate(f"{visible(answer['from'])} → {visible(answer['to'])}")
    for text in visible(answer["text"]).splitlines():
        out(paint(text, _tint(text), colours()))
    if not answer["text"]:
        narrate("no difference")
    return OK


def _tint(text: str) -> str:
    if text.startswith(("---", "+++")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(text[:1], "")
