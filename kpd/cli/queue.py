"""kpd queue: the runs that hold devices, and those that wait for one."""

import time
from argparse import ArgumentParser, Namespace

from kpd.cli.ask import query, workspace
from kpd.cli.outcome import OK
from kpd.cli.parser import add_json
from kpd.cli.status import runs_table
from kpd.cli.text import clean, columns, narrate, out, out_json, wrapped


def arguments(parser: ArgumentParser) -> None:
    add_json(parser)


def execute(args: Namespace) -> int:
    answer = query(workspace(args), "queue")
    if args.json:
        out_json(answer)
        return OK
    answer = clean(answer)
    if answer["held"]:
        for text in wrapped(f"⏸ held: {answer['held']}; kpd resume releases the queue", columns()):
            out(text)
    runs = [*answer["begun"], *answer["queued"]]
    for text in runs_table(runs, time.time(), columns()) if runs else ():
        out(text)
    if not runs:
        narrate("the queue is empty; kpd run TASK queues a run")
    return OK
