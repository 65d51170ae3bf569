"""kpd runs: lists all runs with what each came to, and the disk that its folder takes."""

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path

from kpd.cli import labels
from kpd.cli.ask import query, workspace
from kpd.cli.exit_codes import OK
from kpd.cli.parser import add_json
from kpd.cli.terminal_text import clean, columns, narrate, out, out_json, table


def arguments(parser: ArgumentParser) -> None:
    add_json(parser)


def execute(args: Namespace) -> int:
    ws = workspace(args)
    runs = query(ws, "status")["runs"]
    sizes = {name: taken(ws.run_folder(run["task"], name)) for name, run in runs.items()}
    rows = [
        {
            "run": name,
            "task": run["task"],
            "state": labels.run_state(run),
            "iterations": run["count"],
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
    cells = [(r["run"], r["task"], str(r["iterations"]), _mib(r["bytes"]), r["state"]) for r in clean(rows)]
    out(*table(("RUN", "TASK", "ITERATIONS", "MIB", "STATE"), cells, columns(), right="ITERATIONS MIB"))
    narrate(f"{_mib(sum(sizes.values()))} MiB in {ws.runs}")
    return OK


def taken(folder: Path) -> int:
    """Return the bytes on disk of all files below the folder; what vanishes meanwhile does not count."""
    found = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                found += Path(root, name).lstat().st_blocks * 512
            except FileNotFoundError:
                continue
    return found


def _mib(size: int) -> str:
    return f"{size / 2**20:,.1f}"
