"""kpd memory: what the runs of a task have found so far."""

from argparse import ArgumentParser, Namespace

from kpd.cli.ask import query, workspace
from kpd.cli.enqueue import task_name
from kpd.cli.outcome import OK
from kpd.cli.parser import add_json
from kpd.cli.text import narrate, out, out_json, plain


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="a task's name or folder")
    add_json(parser)


def execute(args: Namespace) -> int:
    ws = workspace(args)
    task = task_name(ws, args.task)
    answer = query(ws, "memory", task=task)
    if args.json:
        out_json(answer)
    elif answer["text"].strip():
        out(plain(answer["text"]).rstrip())
    else:
        narrate(f"nothing is remembered of {task} yet")
    return OK
