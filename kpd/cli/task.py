"""kpd task new, import, check, list: create, import, check and list the tasks of a workspace."""

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from kpd.cli import task_import, task_like, task_new
from kpd.cli.ask import planned_workspace, workspace
from kpd.cli.diagnosis import problems
from kpd.cli.exit_codes import OK, USAGE, CliError
from kpd.cli.parser import add_json, add_workspace_below, nearest
from kpd.cli.terminal_text import columns, narrate, out, out_json, table
from kpd.text.foreign import visible
from kpd.workspace.config import load_config
from kpd.workspace.host_tables import LOCAL
from kpd.workspace.languages import LANGUAGES
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import write_atomic
from kpd.workspace.task import NAME, Task, TaskError, card, find_tasks, load_task

if TYPE_CHECKING:
    from kpd.cli.task_trial import TaskTrial

PLACEHOLDER = "@NAME@"
BY_BASELINE = """\
# The truth is what the kernel as it is here returns, in a process of its own; what its calls differ by is tolerated.
[check]
seeds = 3
truth = "baseline"
rtol = 1e-5
atol = 1e-6

"""


def arguments(parser: ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="what", metavar="new|import|check|list", required=True)
    new = verbs.add_parser("new", help="create a small task to start from, or a task of a production kernel")
    new.add_argument("name", metavar="NAME")
    new.add_argument(
        "--language",
        "--lang",
        metavar="L",
        default="c",
        help="c, python, with --like also cuda (default: c)",
    )
    task_like.arguments(new)
    task_new.arguments(new)
    task_import.arguments(verbs.add_parser("import", help="make a task of a folder that others wrote, and try it"))
    check = verbs.add_parser(
        "check", help="check tasks, and build and run each once; explain errors, and exit with 64 if there are any"
    )
    check.add_argument("--static", action="store_true", help="only read the files: build and run nothing")
    check.add_argument("tasks", nargs="*", metavar="TASK", help="names or folders (default: all tasks)")
    add_json(check)
    add_json(verbs.add_parser("list", help="list the workspace's tasks, and those that ship with kpd"))
    add_workspace_below(verbs)


def execute(args: Namespace) -> int:
    if args.what == "list":
        return _list(planned_workspace(args), args)
    ws = workspace(args)
    if args.what == "import":
        return task_import.execute(ws, args)
    return _new(ws, args) if args.what == "new" else _check(ws, args)


def _new(ws: Workspace, args: Namespace) -> int:
    name = args.name
    if not NAME.fullmatch(name):
        raise CliError(f"{name!r} is not a task's name", "use letters, digits, _ and -")
    if task_new.wanted(args):
        return task_new.execute(ws, args)
    folder = ws.tasks / name
    if folder.exists():
        raise CliError(f"{folder} is there already", "choose another name")
    if args.like and args.truth == "baseline":
        raise CliError("--like has an oracle, which is the truth", "leave --truth out")
    for file, text in (task_like.task_files(args) if args.like else _small(args)).items():
        write_atomic(folder / file, text)
    load_task(folder)
    narrate(f"made {name}: edit its files, then kpd task check {name} and kpd start {name}")
    out(str(folder))
    return OK


def _small(args: Namespace) -> dict[str, str]:
    """Return the files of a small task by their names. Raises CliError."""
    if args.sizes is not None or args.dtype is not None:
        raise CliError("--sizes and --dtype belong to --like", f"--like {task_like.LIKE[0]}, for example")
    found = sorted(_template(args.language).iterdir())
    files = {source.name: source.read_text().replace(PLACEHOLDER, args.name) for source in found}
    return _by_baseline(files, args.language) if args.truth == "baseline" else files


def _by_baseline(files: dict[str, str], language: str) -> dict[str, str]:
    """Return the files of a small task in Python whose own kernel is the truth. Raises CliError."""
    if language != "python":
        message = f"the small task in {language} has an oracle, which is its truth"
        raise CliError(message, "--truth baseline belongs to --lang python, or to a production kernel")
    harness, toml = files["harness.py"], files["task.toml"]
    before, after = toml[: toml.index("# Without rtol")], toml[toml.index("# The sweep agent") :]
    return {**files, "harness.py": harness[: harness.index("\n\ndef truth")], "task.toml": before + BY_BASELINE + after}


def _template(language: str) -> Path:
    """Return the folder with the files of a small task. Raises CliError, PlugInError."""
    if (found := LANGUAGES.get(language)) is None:
        raise CliError(f"no language {language!r}", nearest(language, list(LANGUAGES.names())))
    if found.template is None:
        raise CliError(f"{language} has no small task to start from", "copy a task's folder, or write one")
    return found.template


def _folders(ws: Workspace, given: list[str]) -> dict[str, Path]:
    """Return the folders of the tasks asked for, by name. Raises CliError for one that does not exist."""
    known = find_tasks(ws)
    found = {}
    for name in given:
        folder = known.get(name, Path(name))
        if not folder.is_dir():
            raise CliError(f"no task {name!r}", nearest(name, list(known)) or "kpd task new NAME makes one")
        found[folder.resolve().name] = folder
    return found if given else known


def _check(ws: Workspace, args: Namespace) -> int:
    found = {name: _checked(ws, folder, args.static) for name, folder in _folders(ws, args.tasks).items()}
    if args.json:
        out_json([{"task": name, "ok": not one.problems, **asdict(one)} for name, one in found.items()])
    else:
        for name, one in found.items():
            out(f"{'✗' if one.problems else '✓'} {visible(name)}")
            for text in (*one.problems, *one.notes, *(f"! {warning}" for warning in one.warnings)):
                out(f"    {visible(text)}")
    return USAGE if any(one.problems for one in found.values()) else OK


def _checked(ws: Workspace, folder: Path, static: bool) -> "TaskTrial":
    from kpd.cli.task_trial import TaskTrial, trial

    if (wrong := problems(folder)) or static:
        return TaskTrial(tuple(wrong))
    return trial(load_task(folder), load_config(ws).hosts[LOCAL])


def _told(row: dict[str, object]) -> str:
    if row["error"]:
        return f"✗ {row['error']}"
    return f"{'unchecked: ' if row['unchecked'] else ''}{row['summary']}"


def _list(ws: Workspace, args: Namespace) -> int:
    rows = []
    for name, folder in find_tasks(ws).items():
        where = "workspace" if folder.is_relative_to(ws.tasks) else "shipped"
        try:
            task: Task | None = load_task(folder)
            error = ""
        except TaskError as err:
            task, error = None, str(err)
        brief = card(task) if task else None
        rows.append(
            {
                "name": name,
                "where": where,
                "folder": str(folder),
                "language": brief.language if brief else "",
                "points": brief.tunable if brief else 0,
                "summary": brief.summary if brief else "",
                "unchecked": bool(brief and brief.unchecked),
                "error": error,
            }
        )
    if args.json:
        out_json(rows)
        return OK
    cells = [
        (str(row["name"]), str(row["where"]), str(row["language"]), str(row["points"]),
         _told(row))
        for row in rows
    ]  # fmt: skip
    out(*table(("TASK", "WHERE", "LANGUAGE", "POINTS", "SUMMARY"), cells, columns(), right="POINTS"))
    if not rows:
        narrate("no tasks; kpd task new NAME makes one")
    return OK
