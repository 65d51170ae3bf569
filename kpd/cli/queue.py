"""kpd queue: the runs that hold devices, and those that wait for one."""

from argparse import ArgumentParser, Namespace

from kpd.cli.ask import query, workspace
from kpd.cli.outcome import OK
from kpd.cli.parser import add_json
from kpd.cli.status import clock, runs_table, whose
from kpd.cli.text import clean, columns, narrate, out, out_json, wrapped


def arguments(parser: ArgumentParser) -> None:
    add_json(parser)


def execute(args: Namespace) -> int:
    if args.json:
        out_json(query(workspace(args), "queue"))
        return OK
    answer = clean(query(workspace(args), "status"))
    if answer["pid"] is None or answer.get("playback"):
        narrate(whose(answer, colour=False))
    if answer["held"]:
        for text in wrapped(f"⏸ held: {answer['held']}; kpd resume releases the queue", columns()):
            out(text)
    runs = [*answer["begun"], *answer["queued"]]
    if runs:
        for text in runs_table(runs, answer["tasks"], clock(answer), columns()):
            out(text)
    else:
        narrate("the queue is empty; kpd run TASK queues a run")
    return OK
