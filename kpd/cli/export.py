"""kpd export: writes the candidates of a run as a table, or a run or a comparison in HarnessGym's shapes."""

import csv
import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kpd.cli import labels
from kpd.cli.ask import query, workspace
from kpd.cli.exit_codes import OK, USAGE, CliError
from kpd.cli.log import recorded, run_of
from kpd.cli.terminal_text import narrate
from kpd.model.codec import decode, encode
from kpd.model.toolbox import ToolVersion
from kpd.text import exports
from kpd.text.foreign import visible
from kpd.text.numbers import counted
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import IterationFolder, write_atomic, write_tree

FORMATS = ("csv", "json", "harnessgym")
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet would take for the beginning of a formula."""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("what", metavar="RUN", help="a run's id, or a comparison's (harnessgym)")
    parser.add_argument("--format", choices=FORMATS, required=True, help="a table of its candidates, or result files")
    parser.add_argument("-o", "--output", metavar="PATH", help="a file, or a new folder (harnessgym)")


def execute(args: Namespace) -> int:
    ws = workspace(args)
    status = query(ws, "status")
    if args.format == "harnessgym":
        if args.output is None:
            raise CliError("into which folder?", f"kpd export {args.what} --format harnessgym -o DIR", USAGE)
        return _harnessgym(ws, status, args.what, Path(args.output))
    run = run_of(ws, status, args.what)
    rows = exports.candidates(run, labels.unit(status["tasks"].get(run.task, {})))
    _write_table(rows, args.format, args.output)
    return OK


def _write_table(rows: list[dict[str, Any]], format: str, output: str | None) -> None:
    """Write the rows to a file that is not there yet, or to stdout."""
    if output is None:
        _print_table(rows, format, sys.stdout)
        return
    try:
        with Path(output).open("x", newline="", encoding="utf-8") as file:
            _print_table(rows, format, file)
    except FileExistsError as err:
        raise CliError(f"{output} is there already", "remove it, or name another file", USAGE) from err
    narrate(f"{output} has {counted(len(rows), 'candidate')}")


def _print_table(rows: Iterable[dict[str, Any]], format: str, file: Any) -> None:
    if format == "json":
        file.write(json.dumps(list(rows), indent=2) + "\n")
        return
    table = csv.DictWriter(file, exports.COLUMNS)
    table.writeheader()
    table.writerows({name: _cell(value) for name, value in row.items()} for row in rows)


def _cell(value: Any) -> Any:
    """Return text that a spreadsheet takes for text, and a terminal for nothing else."""
    if not isinstance(value, str):
        return value
    return f"'{visible(value)}" if value.startswith(FORMULA) else visible(value)


def _harnessgym(ws: Workspace, status: Mapping[str, Any], name: str, folder: Path) -> int:
    """Write the files of a run or of a comparison into a new folder."""
    if folder.exists():
        raise CliError(f"{folder} is there already", "remove it, or name another folder", USAGE)
    if any(name == one["id"] for one in query(ws, "comparisons")):
        files = {"compare_report.json": exports.compare_report(query(ws, "comparison", id=name))}
    else:
        run = run_of(ws, status, name)
        card = status["tasks"].get(run.task, {})
        facts, tools = [event.fact for event in recorded(ws, name)], _tools(ws, run.task)
        files = exports.harnessgym(run, facts, tools, labels.unit(card), card.get("direction", "lower"))
        if run.incumbent is not None:
            best = IterationFolder(ws.iteration_folder(run.task, run.id, run.incumbent)).read_candidate()
            write_tree(folder / "checkpoints" / "best", best)
    for path, data in files.items():
        write_atomic(folder / path, json.dumps(data, indent=2) + "\n")
    verb = "is" if len(files) == 1 else "are"
    narrate(f"{', '.join(sorted(files))} {verb} in {folder}")
    return OK


def _tools(ws: Workspace, task: str) -> list[ToolVersion]:
    known = ToolVersion.__dataclass_fields__
    found = [one for one in query(ws, "toolbox") if one["task"] == task]
    return [decode(encode({key: value for key, value in one.items() if key in known}), ToolVersion) for one in found]
