"""kpd task import PATH: makes a task of a folder that others wrote, and tries it before it is there."""

import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kpd.cli.diagnosis import problems
from kpd.cli.exit_codes import OK, CliError
from kpd.cli.parser import add_json
from kpd.cli.terminal_text import narrate, out, out_json
from kpd.text.foreign import visible
from kpd.workspace.config import load_config
from kpd.workspace.host_tables import LOCAL, HostConfig
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import read_files
from kpd.workspace.task import NAME, Task, load_task

if TYPE_CHECKING:
    from kpd.cli.task_trial import TaskTrial, TrialPlace
    from kpd.imports.bringing import Brought
    from kpd.imports.draft import Answers
    from kpd.imports.errors import OpenQuestion

MOST_QUESTIONS = 10
UNSEEN = "that something compares the results is the folder's word: no broken kernel was seen to fail"
NO_GPU = "this machine has no GPU: nothing was run; try it with kpd task check on one that has"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", type=Path, help="a folder that others wrote, or one file")
    parser.add_argument("--as", dest="name", metavar="NAME", help="name of the task (default: that of the folder)")
    parser.add_argument("--format", metavar="FORMAT", default="", help="its format, where kpd cannot tell")
    parser.add_argument("--problem", metavar="P", default="", help="which of several problems, for example 1/19")
    group = parser.add_argument_group("what the folder does not tell", "without them kpd asks, on a terminal")
    group.add_argument("--editable", metavar="FILE", action="append", default=[], help="what a candidate may change")
    group.add_argument("--bench", metavar="COMMAND", default="", help="the command that measures")
    group.add_argument("--check", metavar="COMMAND", default="", help='the command that checks: prints {"ok": true}')
    group.add_argument("--score", metavar="PLACE", default="", help="the place of the score in the printed object")
    group.add_argument("--direction", choices=("lower", "higher"), default="", help="which scores are better")
    group.add_argument("--good", metavar="WORD", action="append", default=[], help="a word that says that all is right")
    group.add_argument("--baseline", choices=("wrong", "absent"), default="", help="its own files are wrong or missing")
    group.add_argument("--language", metavar="L", default="", help="python, triton or command")
    group.add_argument("--device", choices=("cpu", "gpu"), default="", help="what it is measured on")
    group.add_argument("--measured-by", choices=("kpd", "folder"), default="", help="who measures, where both can")
    group.add_argument("--last", action="store_true", help="of several printed objects the last one is the result")
    group.add_argument("--unchecked", action="store_true", help="go on where nothing compares the results")
    add_json(parser)


def execute(ws: Workspace, args: Namespace) -> int:
    """Import the folder and return the exit code. Raises CliError, WorkspaceError, OSError."""
    from kpd.imports.draft import Answers
    from kpd.imports.errors import Unclear

    name = args.name or _plain(args.path)
    if not NAME.fullmatch(name):
        raise CliError(f"{name!r} is not a task's name", "name it with --as: letters, digits, _ and -")
    if (ws.tasks / name).exists():
        raise CliError(f"{ws.tasks / name} is there already", "choose another name with --as")
    given: dict[str, Any] = {field.name: getattr(args, field.name) for field in fields(Answers)}
    given |= {key: tuple(value) for key, value in given.items() if isinstance(value, list)}
    answers = Answers(**given)
    ws.tasks.mkdir(parents=True, exist_ok=True)
    for _ in range(MOST_QUESTIONS):
        try:
            return _import(ws, args, name, answers)
        except Unclear as err:
            if args.json or not sys.stdin.isatty():
                raise
            before = answers
            for question in err.questions:
                answers = _asked(question, answers)
            if answers == before:
                raise
    raise CliError("too many questions are left open", "answer them by options: kpd task import --help")


def _import(ws: Workspace, args: Namespace, name: str, answers: "Answers") -> int:
    from kpd.imports.bringing import bring, described, read_benchmark, refuse_unchecked

    with tempfile.TemporaryDirectory(prefix=".importing-", dir=ws.tasks) as scratch:
        found = bring(args.path, Path(scratch), name, answers, args.format)
        narrate(visible(f"{found.kind.importer.title}: {', '.join(found.kind.signs)}"))
        here = load_config(ws).hosts[LOCAL]
        runs = _runs_here(found, here)
        if runs:
            narrate(visible(_warning(found)))
            read_benchmark(found, answers)
            refuse_unchecked(found, answers)
        if wrong := problems(found.folder):
            raise CliError(f"the task that was made is refused: {visible(wrong[0])}", "answer by an option")
        told = _tried(found, answers, here) if runs else None
        if not (found.draft.checked or answers.unchecked or found.draft.get("check", "command")):
            found.draft.weak.append(UNSEEN)
        found.draft.weak += told.warnings if told else ()
        found.write()
        found.folder.rename(ws.tasks / name)
    lines = [*_lines(found, told)]
    if args.json:
        seen = {"score": found.reading.score, "value": found.reading.value} if found.reading else None
        shown = {"task": name, "format": found.kind.name, "signs": found.kind.signs, **described(found.draft)}
        out_json({**shown, "read": seen, "notes": [*found.notes, *(told.notes if told else ())]})
    else:
        out(*map(visible, lines))
    narrate(f"made {ws.tasks / name}: look through its task.toml, then kpd start {name}")
    return OK


def _warning(found: "Brought") -> str:
    """Return what an operator is told before anything of the folder runs."""
    command = found.draft.get("bench", "command")
    what = f"`{command}`" if command else "the task's own kernel"
    return f"runs {what}, which others wrote, in a copy of the folder and with your rights"


def _runs_here(found: "Brought", here: HostConfig) -> bool:
    """Return whether this machine has the kind of device that the task is measured on."""
    from kpd.cli.task_trial import has_device
    from kpd.measure.catalogue import device_of
    from kpd.model.hosts import Need

    need = found.draft.toml.get("need", {})
    kind = device_of(found.draft.get("task", "language"), Need(**need))
    if kind == "cpu" or has_device(kind, here):
        return True
    found.notes.append(NO_GPU)
    return False


def _tried(found: "Brought", answers: "Answers", here: HostConfig) -> "TaskTrial":
    """Try the task as kpd runs it, then with a broken kernel, which has to fail, and with some that are nearly right.

    Raises CliError.
    """
    from kpd.cli.task_trial import TrialPlace

    task = load_task(found.folder)
    with TrialPlace(task, here) as place:
        return _tried_in(place, task, found, answers)


def _tried_in(place: "TrialPlace", task: Task, found: "Brought", answers: "Answers") -> "TaskTrial":
    from kpd.imports.breaking import PROBES, broken, nearly_right
    from kpd.imports.glue import SECOND

    told = place.own()
    if answers.baseline:
        found.notes += [f"its own files are {answers.baseline}: {problem}" for problem in told.problems]
        return told
    if told.problems:
        other = "say --measured-by folder" if SECOND in found.draft.made else "answer by an option"
        raise CliError(f"the task does not run: {visible(told.problems[0])}", f"correct the folder, or {other}")
    editable = read_files(task.folder, task.editable)
    if not (files := broken(editable)):
        found.notes.append("no broken kernel was tried: kpd does not know how to break what is editable")
        return told
    probes = {probe: made for probe in PROBES if (made := nearly_right(editable, probe))}
    failures = map(_failure, place.changed([files, *probes.values()]))
    if failed := next(failures):
        found.draft.checked = True
        found.notes.append(f"a broken kernel fails, as it should: {failed}")
    elif answers.unchecked:
        found.draft.weak.append("a kernel that computes nothing passes")
        return told
    else:
        raise CliError(
            "a kernel that computes nothing passes: what checks the results does not notice it",
            "correct the check, name one with --check, or say --unchecked",
        )
    found.draft.weak += [probe.weak for probe, failed in zip(probes, failures, strict=True) if not failed]
    if not probes:
        found.notes.append(
            "constant, remembered and rounded results were not tried: no function in Python returns them"
        )
    return told


def _failure(told: "TaskTrial") -> str:
    """Return the first line of why the task refuses a candidate; empty where it passes.

    Raises CliError where this machine could not try it: that is no sign that anything checks results.
    """
    if told.untried:
        raise CliError(f"a broken kernel could not be tried: {visible(told.problems[0])}", "import the folder again")
    return told.problems[0].splitlines()[0][:200] if told.problems else ""


def _asked(question: "OpenQuestion", answers: "Answers") -> "Answers":
    """Ask a person, and return the answers with theirs. Raises CliError where none is given."""
    name = question.flag.removeprefix("--")
    before: Any = getattr(answers, name, None)
    if before is None:  # --format is no answer about the folder
        raise CliError(question.text, f"say it with {question.flag}: {', '.join(question.choices)}")
    choices = f" [{', '.join(question.choices)}]" if question.choices else ""
    narrate(visible(f"{question.text}{choices}"))
    try:
        said = input(f"{name}{' (y/n)' if isinstance(before, bool) else ''}: ").strip()
    except EOFError as err:
        raise CliError(question.text, f"say it with {question.flag}") from err
    whole = (said,) if name == "good" and said else tuple(said.split())  # what is said in several words is one answer
    answer: Any = (*before, *whole) if isinstance(before, tuple) else said
    changed: dict[str, Any] = {name: said.lower() in ("y", "yes") if isinstance(before, bool) else answer}
    return replace(answers, **changed)


def _lines(found: "Brought", told: "TaskTrial | None") -> Iterator[str]:
    yield f"{found.draft.toml['task']['name']} ({found.kind.name})"
    if found.reading is not None:
        one = found.reading
        yield f"    read: {one.score} = {one.value:g}, {one.direction} is better"
        cases = ", ".join(one.names[:8])
        yield f"    cases: {cases}, in {one.unit}" if one.names else "    cases: none with a time in a unit"
        yield f"    verdict: {', '.join(one.said[:5]) or 'nothing'}"
    for note in (*(told.notes if told else ()), *found.notes):
        yield f"    {note}"
    yield from (f"    assumed: {text}" for text in found.draft.assumed)
    yield from (f"    ! weak: {text}" for text in found.draft.weak)


def _plain(path: Path) -> str:
    stem = path.resolve().stem if path.is_file() else path.resolve().name
    return "".join(char if char.isascii() and (char.isalnum() or char in "_-") else "_" for char in stem)
