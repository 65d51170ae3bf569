"""kpd tools: prints which tools agents called; lists, checks and moves the tools that agents have built."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Any

from kpd.cli import toolbox
from kpd.cli.ask import query, workspace
from kpd.cli.exit_codes import OK, USAGE, CliError
from kpd.cli.parser import add_json
from kpd.cli.terminal_text import clean, columns, narrate, out, out_json, table
from kpd.cli.terms import RUN
from kpd.workspace.paths import Workspace

VERBS: dict[str, Callable[[Workspace, Namespace], int]] = {
    "list": toolbox.list_tools, "show": toolbox.show, "qualify": toolbox.qualify, "quarantine": toolbox.quarantine,
    "restore": toolbox.restore, "retire": toolbox.retire, "export": toolbox.export, "import": toolbox.bring_in,
}  # fmt: skip


def arguments(parser: ArgumentParser) -> None:
    parser.usage = f"kpd tools [RUN] [--json]\n       kpd tools {{{','.join(VERBS)}}} …"
    parser.epilog = toolbox.HELP
    parser.add_argument("what", nargs="?", metavar="RUN", help="the calls of one run (default: of all runs)")
    parser.add_argument("names", nargs="*", metavar="TOOL", help="what one of the words above works on")
    parser.add_argument("--task", metavar="TASK", help="import: the task whose runs may use the tool")
    parser.add_argument("--why", metavar="WHY", help="quarantine: the reason")
    add_json(parser)


def execute(args: Namespace) -> int:
    for word, value in (("import", args.task), ("quarantine", args.why)):
        if value is not None and args.what != word:
            option = "--task" if word == "import" else "--why"
            raise CliError(f"{option} is for kpd tools {word} alone", "kpd tools --help", USAGE)
    ws = workspace(args)
    if args.what in VERBS:
        return VERBS[args.what](ws, args)
    toolbox.refuse_names(args)
    if args.what is not None and not RUN.fullmatch(args.what):
        raise CliError(f"{args.what!r} is neither a run nor one of {', '.join(VERBS)}", "kpd tools --help", USAGE)
    answer = query(ws, "tool_calls", run=args.what)
    if args.json:
        out_json(answer)
        return OK
    answer = clean(answer)
    if not answer["calls"] and not answer["skills_read"]:
        narrate("no agent has called a tool yet; agents in sessions do, and any client of kpd mcp may read")
        return OK
    names = ("RUN", "SERVER", "TOOL", "CALLS", "FAILED", "MEDIAN MS", "LONGEST MS", "ANSWERS KIB")
    out(*table(names, map(_calls, answer["calls"]), columns(), right="CALLS FAILED MEDIAN_MS LONGEST_MS ANSWERS_KIB"))
    if answer["trials"]:
        out("")
        heads = ("ITERATION", "TRIALS", "ON THE DEVICE S", "HOW THEY ENDED")
        out(*table(heads, map(_trials, answer["trials"]), columns(), right="TRIALS ON_THE_DEVICE_S"))
    if answer["skills_read"]:
        rows = [(one["run"], one["skill"], str(one["sessions"])) for one in answer["skills_read"]]
        out("", *table(("RUN", "SKILL THAT WAS READ", "SESSIONS"), rows, columns(), right="SESSIONS"))
    return OK


def _calls(found: dict[str, Any]) -> tuple[str, ...]:
    times = f"{found['median_ms']:,.0f}", f"{found['longest_ms']:,.0f}"
    counts = f"{found['calls']}", f"{found['failed']}"
    return (found["run"], found["server"], found["tool"], *counts, *times, f"{found['answer_bytes'] / 1024:,.1f}")


def _trials(found: dict[str, Any]) -> tuple[str, ...]:
    ends = ", ".join(f"{count} {end.replace('_', ' ')}" for end, count in found["ends"].items())
    where = f"{found['run']}.{found['iteration']}"
    return (where, f"{sum(found['ends'].values())}", f"{found['device_s']:,.1f}", ends)
