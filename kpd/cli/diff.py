"""kpd diff: what an iteration changed, against its parent or another iteration."""

from argparse import ArgumentParser, Namespace

from kpd.cli.ask import query, workspace
from kpd.cli.outcome import OK
from kpd.cli.parser import add_json
from kpd.cli.text import colours, narrate, out, out_json, paint, plain


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("iteration", metavar="ITER", help="r3.7, or 7 in the newest run")
    parser.add_argument("against", nargs="?", metavar="ITER", help="the iteration it is compared with; its parent")
    add_json(parser)


def execute(args: Namespace) -> int:
    answer = query(workspace(args), "diff", iteration=args.iteration, against=args.against)
    if args.json:
        out_json(answer)
        return OK
    narrate(f"{plain(answer['from'])} → {plain(answer['to'])}")
    for text in plain(answer["text"]).splitlines():
        out(paint(text, _tint(text), colours()))
    if not answer["text"]:
        narrate("no difference")
    return OK


def _tint(text: str) -> str:
    if text.startswith(("---", "+++")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(text[:1], "")
