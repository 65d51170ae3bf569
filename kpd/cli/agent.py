"""kpd agent: who proposes in a run, and with which model, from its next iteration on."""

import re
from argparse import ArgumentParser, Namespace

from kpd.cli.ask import command, query, workspace
from kpd.cli.outcome import OK, CliError
from kpd.cli.text import line, narrate, out

RUN = re.compile(r"r\d+")


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="[RUN] AGENT[,AGENT]", help="claude, sweep, claude,sweep, …")
    parser.add_argument("--model", metavar="NAME", help='the model that claude asks; "" is that of config.toml')


def execute(args: Namespace) -> int:
    ws, given = workspace(args), list(args.words)
    run = given.pop(0) if given and RUN.fullmatch(given[0]) else None
    if len(given) > 1:
        raise CliError("agents that take turns are written with commas", f"kpd agent {','.join(given)}")
    agent = given[0] if given else None
    changes = agent is not None or args.model is not None
    if changes:
        run = command(ws, "agent", run=run, agent=agent, model=args.model)["run"]
    found = query(ws, "terms", run=run)
    model = f" with {line(found['model'])}" if found["model"] else ""
    if changes:
        narrate(f"{found['run']}: from the next iteration on {line(found['agent'])} proposes{model}")
    else:
        out(f"{found['run']}: {line(found['agent'])}{model}")
    return OK
