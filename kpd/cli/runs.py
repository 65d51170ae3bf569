"""kpd runs: lists all runs with the disk that each takes; prune removes files of candidates that have not won."""

import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

from kpd.cli import labels
from kpd.cli.ask import query, workspace
from kpd.cli.exit_codes import FAILED, OK, USAGE, CliError
from kpd.cli.parser import add_json, nearest
from kpd.cli.terminal_text import clean, columns, narrate, out, out_json, table
from kpd.client import DaemonError, NoDaemon, ask, operator
from kpd.text.numbers import counted
from kpd.workspace.disk import taken
from kpd.workspace.paths import Workspace

LONGEST_S = 900.0
"""The longest that the removal of a run's files may take."""
HELP = """\
kpd runs                     all runs, with the disk that each takes
kpd runs prune [RUN …]       of runs that have ended (default: all of them), remove the files of candidates that
                             were not accepted; the log keeps their verdicts, times and memos

The baseline, what was accepted and what is held stay; with --keep-best only the baseline and the best. A candidate that
was pruned has no diff any more, cannot be accepted or measured again, and its run cannot be bundled: --archive DIR
writes the bundle first.
"""


def arguments(parser: ArgumentParser) -> None:
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = HELP
    parser.add_argument("what", nargs="?", choices=("prune",), help="remove files of ended runs; else they are listed")
    parser.add_argument("run", nargs="*", metavar="RUN", help="prune: these runs (default: all that have ended)")
    parser.add_argument("--keep-best", action="store_true", help="prune: keep only the baseline and the best")
    parser.add_argument("--archive", metavar="DIR", type=Path, help="prune: first write each run's bundle into DIR")
    parser.add_argument("--yes", action="store_true", help="prune: do not ask")
    add_json(parser)


def execute(args: Namespace) -> int:
    if args.what == "prune":
        return _prune(workspace(args), args)
    if args.keep_best or args.archive or args.yes:
        raise CliError("--keep-best, --archive and --yes are for kpd runs prune alone", "kpd help runs", USAGE)
    ws = workspace(args)
    runs = query(ws, "status")["runs"]
    sizes = {name: taken(ws.run_folder(run["task"], name)) for name, run in runs.items()}
    rows = [
        {
            "run": name,
            "task": run["task"],
            "state": labels.run_state(run),
            "iterations": run["count"],
            "pruned": len(run["pruned"]),
            "bytes": sizes[name],
        }
        for name, run in runs.items()
    ]
    if args.json:
        out_json(rows)
        return OK
    if not rows:
        narrate("no run yet; kpd run TASK queues one")
        return OK
    cells = [
        (r["run"], r["task"], str(r["iterations"]), str(r["pruned"] or ""), _mib(r["bytes"]), r["state"])
        for r in clean(rows)
    ]
    heads = ("RUN", "TASK", "ITERATIONS", "PRUNED", "MIB", "STATE")
    out(*table(heads, cells, columns(), right="ITERATIONS PRUNED MIB"))
    narrate(f"{_mib(sum(sizes.values()))} MiB in {ws.runs}")
    return OK


def _prune(ws: Workspace, args: Namespace) -> int:
    runs = query(ws, "status")["runs"]
    if unknown := [name for name in args.run if name not in runs]:
        raise CliError(f"no run {unknown[0]!r}", nearest(unknown[0], list(runs)[-10:]) or "kpd runs lists them")
    wanted = [name for name in args.run or runs if args.run or runs[name]["status"] == "ended"]
    if not wanted:
        narrate("no run has ended yet: there is nothing to prune")
        return OK
    if args.archive is not None and not args.archive.is_dir():
        raise CliError(f"there is no folder {args.archive}", "make it first")
    if not args.yes:
        _ask(ws, wanted, runs, args.keep_best)
    ends = [_pruned(ws, name, args) for name in wanted]
    done = [one for one in ends if isinstance(one, dict)]
    if args.json:
        out_json(done)
    else:
        narrate(f"{_mib(sum(one['bytes'] for one in done))} MiB are free again")
    failed = [one for one in ends if not isinstance(one, dict) and (args.run or not _refused(one))]
    return FAILED if failed else OK


def _refused(err: CliError | DaemonError) -> bool:
    """Return whether the daemon refuses to prune a run: of all runs those that have nothing to prune are no failure."""
    return isinstance(err, DaemonError) and err.code == "refused"


def _ask(ws: Workspace, wanted: list[str], runs: dict[str, Any], keep_best: bool) -> None:
    """Ask before anything is removed. Raises CliError where the answer is no, or nobody can be asked."""
    if not sys.stdin.isatty():
        raise CliError("files would be removed, and nobody can be asked", "--yes prunes without a question", USAGE)
    size = sum(taken(ws.run_folder(runs[name]["task"], name)) for name in wanted)
    stays = "the baseline and the best" if keep_best else "the baseline, and what was accepted or is held"
    narrate(f"{', '.join(wanted)}: {_mib(size)} MiB. Of the candidates' files only those of {stays} are kept.")
    sys.stderr.write("Remove all others? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CliError("nothing was removed", "", FAILED)


def _pruned(ws: Workspace, name: str, args: Namespace) -> dict[str, Any] | CliError | DaemonError:
    """Prune a run, after its bundle was written if that is wanted; return why it was not where it was not: it is told.

    Where files may be gone already, or may go yet, the bundle stays.
    """
    from kpd.cli.bundle import archive

    given = {"run": name, "keep_best": args.keep_best}
    kept = None
    try:
        if args.archive is not None:
            kept = archive(ws, name, args.archive)
        found: dict[str, Any] = ask(ws.socket, "command", "prune", given, by=operator(), timeout=LONGEST_S)
    except (DaemonError, CliError) as err:
        may_be_done = isinstance(err, DaemonError) and err.code in ("infra", "internal", "protocol")
        if kept is not None and not may_be_done:
            kept.unlink()
        if isinstance(err, NoDaemon):
            raise
        bundle = f"; files may be gone, and its bundle is {kept}" if kept is not None and may_be_done else ""
        narrate(clean(f"{name}: {err.message}{bundle}" + (f"; {err.remedy}" if err.remedy else "")))
        return err
    if not args.json:
        where = f", its bundle is {kept}" if kept is not None else ""
        out(f"{name}: {counted(found['count'], 'candidate')}, {found['mib']} MiB{where}")
    return {**found, "archive": str(kept) if kept is not None else ""}


def _mib(size: int) -> str:
    return f"{size / 2**20:,.1f}"
