"""kpd report: makes a page of a run that can be sent around, its short form, or a table of all runs."""

import os
import webbrowser
from argparse import ArgumentParser, Namespace
from functools import partial
from pathlib import Path

from kpd.cli.ask import query, workspace
from kpd.cli.exit_codes import OK, CliError
from kpd.cli.log import recorded
from kpd.cli.parser import add_json, nearest
from kpd.cli.terminal_text import narrate, out, out_json
from kpd.model.fold import fold_all
from kpd.workspace.extras import install
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import write_atomic


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("run", nargs="?", metavar="RUN", help="a run's id (default: the newest run)")
    parser.add_argument("--html", metavar="FILE", type=Path, help="where to write the page (default: in its folder)")
    parser.add_argument("--md", metavar="FILE", type=Path, help="write the short form in Markdown, alone unless --html")
    parser.add_argument("--all", action="store_true", help="the best of each task on each device, of all runs")
    parser.add_argument("--open", action="store_true", help="open the page in the browser")
    add_json(parser)


def execute(args: Namespace) -> int:
    if args.all and args.run is not None:
        raise CliError(f"--all is of all runs, {args.run} is one", "leave one of the two out")
    for path in (args.html, args.md):
        if path is not None and not path.parent.is_dir():
            raise CliError(f"there is no folder {path.parent}", "make it first, or name a file in another one")
    ws = workspace(args)
    wants_page = args.html is not None or args.md is None or args.open
    try:
        name, texts = _all(ws, args, wants_page) if args.all else _one(ws, args, wants_page)
    except ImportError as err:
        raise CliError(f"a report needs {err.name}", install("report")) from err
    for path, text in texts.items():
        write_atomic(path, text.encode())
    sizes = {str(path): len(text.encode()) for path, text in texts.items()}
    if args.json:
        path = next(iter(sizes))
        out_json({"run": name, "path": path, "bytes": sizes[path], "files": sizes})
    else:
        out(*sizes)
        narrate(f"{sum(sizes.values()) / 1000:.0f} kB, all in {'one file' if len(sizes) == 1 else 'two files'}")
    if args.open and not webbrowser.open(next(iter(texts)).resolve().as_uri()):
        narrate("no browser could be opened; open the file by hand")
    return OK


def _one(ws: Workspace, args: Namespace, wants_page: bool) -> tuple[str | None, dict[Path, str]]:
    """Return the id of a run, and its page and short form by their paths, the page first."""
    from kpd.report.facts import gather
    from kpd.report.short import short

    runs = query(ws, "status")["runs"]
    if args.run is not None and args.run not in runs:
        raise CliError(f"no run {args.run!r}", nearest(args.run, list(runs)[-10:]) or "kpd run TASK queues one")
    run_id = args.run or next(reversed(runs), None)
    if run_id is None:
        raise CliError("no run yet", "kpd run TASK queues one")
    if runs[run_id]["baseline"] is None:
        raise CliError(
            f"{run_id} has no baseline yet, so there is nothing to report", f"kpd log {run_id} shows its state"
        )
    facts = gather(partial(query, ws), recorded(ws, run_id), run_id)
    folder = ws.run_folder(facts.run.task, run_id)
    found = {}
    if wants_page:
        from kpd.report.render import page

        found[args.html or folder / "report.html"] = page(facts)
    if args.md is not None:
        near = args.md.resolve().is_relative_to(folder)
        diffs = {it.number: ws.iteration_folder(facts.run.task, run_id, it.number) for it in facts.line if near}
        links = {str(number): _beside(args.md, each / "diff.patch") for number, each in diffs.items()}
        links |= {"page": _beside(args.md, next(iter(found)))} if found else {}
        found[args.md] = short(facts, links)
    return run_id, found


def _beside(file: Path, target: Path) -> str:
    """Return the address of `target` as a link in `file` has it."""
    return Path(os.path.relpath(target.resolve(), file.resolve().parent)).as_posix().replace(" ", "%20")


def _all(ws: Workspace, args: Namespace, wants_page: bool) -> tuple[str | None, dict[Path, str]]:
    """Return the page and the short form of all runs by their paths, the page first."""
    from kpd.report.overview import reported
    from kpd.report.short import short_overview

    runs = reported(fold_all(recorded(ws)))
    if not runs:
        raise CliError("no run has a baseline yet, so there is nothing to report", "kpd run TASK queues one")
    found = {}
    if wants_page:
        from kpd.report.render import overview_page

        found[args.html or ws.runs / "report.html"] = overview_page(runs)
    if args.md is not None:
        found[args.md] = short_overview(runs)
    return None, found
