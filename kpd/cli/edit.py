"""kpd edit: opens the kernel in the operator's editor and submits the edit."""

import re
import shutil
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kpd.cli.ask import command, query, workspace
from kpd.cli.exit_codes import DAEMON_CODES, FAILED, INFRA, OK, CliError
from kpd.cli.parser import nearest
from kpd.cli.terminal_text import line, narrate
from kpd.client import DaemonError
from kpd.workspace.editable import covers, is_plain
from kpd.workspace.environment import REMEDY, editor
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import files_below, read_files

_PLACE = re.compile(r"r[1-9][0-9]*(\.[0-9]+)?|[0-9]+")


def arguments(parser: ArgumentParser) -> None:
    what = "a run or an iteration to start from; the active run's incumbent if left out"
    parser.add_argument("place", nargs="?", metavar="RUN|ITER", help=what)
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="the file to edit, if the task has several; a new one where it may have more",
    )


def execute(args: Namespace) -> int:
    ws = workspace(args)
    place, name, words = args.place, args.file, editor()
    if name is None and place is not None and not _PLACE.fullmatch(place):
        place, name = None, place
    run, number = _start(ws, place)
    card = query(ws, "status")["tasks"].get(run["task"])
    if card is None or card["error"]:
        raise CliError(f"the task {run['task']} is {'broken' if card else 'gone'}", "kpd status")
    files = _files(ws, run, number, card["editable"])
    gone = [path for path in card["editable"] if path not in files]
    chosen = _chosen(name, list(files), card["areas"])
    if run["status"] == "ended":
        remedy = f"edit {ws.tasks / run['task'] / chosen} itself: the next run starts from it"
        raise CliError(f"{run['id']} has ended: {run['reason']}", remedy, FAILED)
    copy = Path(tempfile.mkdtemp(prefix="kpd-edit-")) / Path(chosen).name
    before = files.get(chosen, "")
    copy.write_text(before, newline="")
    _let_edit(words, copy)
    try:
        text = copy.read_bytes().decode()
    except UnicodeDecodeError as err:
        raise CliError("that is not UTF-8 text any more", f"it is kept in {copy}", FAILED) from err
    if text == before:
        shutil.rmtree(copy.parent)
        narrate("nothing changed")
        return OK
    try:
        command(ws, "edit", run=run["id"], files={**files, chosen: text}, **({"removed": gone} if gone else {}))
    except DaemonError as err:
        # The only usage error that a text can cause is its length.
        remedy = f"save it as {ws.tasks / run['task'] / chosen} yourself" if err.code == "usage" else err.remedy
        remedy = f"{remedy}; what you wrote is kept in {copy}" if remedy else f"what you wrote is kept in {copy}"
        raise CliError(err.message, remedy, DAEMON_CODES.get(err.code, INFRA)) from err
    shutil.rmtree(copy.parent)
    narrate(f"{chosen} is in the task folder: {run['id']} measures it next")
    return OK


def _start(ws: Workspace, place: str | None) -> tuple[dict[str, Any], int | None]:
    """Return the run that an edit is for, and the iteration whose files it starts from; None before there is any."""
    if place is not None and not (place.startswith("r") and "." not in place):
        shown = query(ws, "show", iteration=place)
        return shown["run"], shown["iteration"]["number"]
    status = query(ws, "status")
    runs = status["runs"]
    begun = [run["id"] for run in status["begun"]]
    if place is None and len(begun) > 1:
        raise CliError(f"{' and '.join(begun)} are under way", "say which one: kpd edit RUN", FAILED)
    chosen = place or (begun[0] if begun else next(reversed(runs), None))
    if chosen not in runs:
        remedy = nearest(place or "", list(runs)[-10:]) or "kpd run TASK queues one"
        raise CliError(f"no run {place!r}" if place else "no run yet", remedy)
    return runs[chosen], runs[chosen]["incumbent"]


def _files(ws: Workspace, run: dict[str, Any], number: int | None, editable: list[str]) -> dict[str, str]:
    """Read the candidate's editable files as text, those of `editable` first. Raises CliError."""
    folder, names = ws.tasks / run["task"], editable
    if number is not None:
        folder = ws.iteration_folder(run["task"], run["id"], number) / "candidate"
        there = files_below(folder)
        names = [name for name in editable if name in there] + [name for name in there if name not in editable]
    try:
        return {name: data.decode() for name, data in read_files(folder, names or editable).items()}
    except UnicodeDecodeError as err:
        raise CliError(f"the editable files in {folder} are not all UTF-8 text", "edit the task folder itself") from err


def _chosen(name: str | None, files: list[str], areas: Sequence[str]) -> str:
    """Return the file to open: the named one, a new one in one of the `areas`, or else the first. Raises CliError."""
    if name is None:
        return files[0]
    if name not in files and not (is_plain(name) and any(covers(area, name) for area in areas)):
        raise CliError(f"{line(name)} is not an editable file", nearest(name, files))
    return name


def _let_edit(words: Sequence[str], copy: Path) -> None:
    """Run the editor and wait until it ends. Raises CliError."""
    import subprocess  # only this verb needs it

    try:
        code = subprocess.run([*words, str(copy)]).returncode
    except OSError as err:
        raise CliError(f"{words[0]} cannot be run: {err.strerror}", REMEDY, INFRA) from err
    if code:
        raise CliError(f"{words[0]} exited {code}: nothing is sent", f"what you wrote is in {copy}", FAILED)
