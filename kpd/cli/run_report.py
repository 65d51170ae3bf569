"""kpd report: makes a page of a run that can be sent around."""

import webbrowser
from argparse import ArgumentParser, Namespace
from functools import partial
from pathlib import Path

from kpd.cli.ask import query, workspace
from kpd.cli.exit_codes import OK, CliError
from kpd.cli.log import recorded
from kpd.cli.parser import add_json, nearest
from kpd.cli.terminal_text import narrate, out, out_json
from kpd.workspace.run_files import write_atomic


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("run", nargs="?", metavar="RUN", help="a run's id (default: the newest run)")
    parser.add_argument("--html", metavar="FILE", type=Path, help="where to write it (default: in its folder)")
    parser.add_argument("--open", action="store_true", help="open it in the browser")
    add_json(parser)


def execute(args: Namespace) -> int:
    try:
        from kpd.report.facts import gather
        from kpd.report.render import page
    except ImportError as err:
        raise CliError(f"a report needs {err.name}", "pip install 'kpd[report]'") from err
    ws = workspace(args)
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
    if args.html is not None and not args.html.parent.is_dir():
        raise CliError(f"there is no folder {args.html.parent}", "make it first, or name a file in another one")
    path = args.html or ws.run_folder(runs[run_id]["task"], run_id) / "report.html"
    text = page(gather(partial(query, ws), recorded(ws, run_id), run_id))
    write_atomic(path, text.encode())
    if args.json:
        out_json({"run": run_id, "path": str(path), "bytes": len(text.encode())})
    else:
        out(str(path))
        narrate(f"{len(text.encode()) / 1000:.0f} kB, all in one file")
    if args.open and not webbrowser.open(path.resolve().as_uri()):
        narrate("no browser could be opened; open the file by hand")
    return OK
