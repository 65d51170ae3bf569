"""kpd edit: opens a file of the candidate in the operator's editor, or removes files, and submits the edit."""

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
    gone = "remove this file, in place of an edit or with the one of FILE; again for several"
    parser.add_argument("--remove", action="append", default=[], metavar="PATH", help=gone)


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
    for path in args.remove:
        if path not in files and path not in gone:
            raise CliError(f"{line(path)} is no file of the candidate", nearest(path, list(files)))
        if path == name:
            raise CliError(f"{path} cannot be edited and removed at once", "name it once")
    left = {path: text for path, text in files.items() if path not in args.remove}
    chosen = _chosen(name, list(left), card["areas"]) if name is not None or not args.remove else None
    if run["status"] == "ended":
        remedy = f"edit {ws.tasks / run['task'] / (chosen or '')} itself: the next run starts from it"
        raise CliError(f"{run['id']} has ended: {run['reason']}", remedy, FAILED)
    copy = _edited(words, chosen, left.get(chosen, "")) if chosen is not None else None
    if copy is not None and chosen is not None:
        try:
            text = copy.read_bytes().decode()
        except UnicodeDecodeError as err:
            raise CliError("that is not UTF-8 text any more", f"it is kept in {copy}", FAILED) from err
        if text == left.get(chosen, "") and not args.remove:
            shutil.rmtree(copy.parent)
            narrate("nothing changed")
            return OK
        left[chosen] = text
    removed = list(dict.fromkeys((*gone, *args.remove)))
    sent = {path: text for path, text in left.items() if text or path == chosen}  # empty ones stay as they are
    try:
        command(ws, "edit", run=run["id"], files=sent, **({"removed": removed} if removed else {}))
    except DaemonError as err:
        raise _refused(err, ws.tasks / run["task"], chosen, copy) from err
    if copy is not None:
        shutil.rmtree(copy.parent)
    gone_now = f"removed from the task folder: {', '.join(args.remove)}" if args.remove else ""
    told = filter(None, (f"{chosen} is in the task folder" if chosen else "", gone_now))
    narrate(f"{'; '.join(told)}: {run['id']} measures it next")
    return OK


def _refused(err: DaemonError, folder: Path, chosen: str | None, copy: Path | None) -> CliError:
    """Return the error to show; what was written is kept, and named."""
    # The only usage error that a text can cause is its length.
    remedy = f"save it as {folder / chosen} yourself" if chosen and err.code == "usage" else err.remedy
    kept = f"what you wrote is kept in {copy}" if copy else ""
    return CliError(err.message, "; ".join(filter(None, (remedy, kept))), DAEMON_CODES.get(err.code, INFRA))


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
    if not is_plain(name):  # it may look like another one
        raise CliError(f"{name!a} is not an editable file", "use letters, digits, . _ + and -")
    if name not in files and not any(covers(area, name) for area in areas):
        raise CliError(f"{line(name)} is not an editable file", nearest(name, files))
    return name


def _edited(words: Sequence[str], path: str, before: str) -> Path:
    """Let the operator edit a copy of the file, wait until the editor ends, and return the copy. Raises CliError."""
    import subprocess  # only this verb needs it

    copy = Path(tempfile.mkdtemp(prefix="kpd-edit-")) / Path(path).name
    copy.write_text(before, newline="")
    try:
        code = subprocess.run([*words, str(copy)]).returncode
    except OSError as err:
        raise CliError(f"{words[0]} cannot be run: {err.strerror}", REMEDY, INFRA) from err
    if code:
        raise CliError(f"{words[0]} exited {code}: nothing is sent", f"what you wrote is in {copy}", FAILED)
    return copy
