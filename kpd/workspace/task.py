"""Reads task.toml and its folder: what to optimise, what an agent may change, and how it is judged."""

import os
import re
import shutil
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

from kpd.model.hosts import Need
from kpd.model.run import OwnFiles
from kpd.model.state import TaskCard
from kpd.workspace import sections, spec_rules, spec_values, tune_space
from kpd.workspace.editable import BadEditable, chosen, clash, covers, ignored, is_area, is_plain, leads_to
from kpd.workspace.languages import CUDA, C, Language
from kpd.workspace.paths import Workspace
from kpd.workspace.records import BadRecords, is_record, refuse_records
from kpd.workspace.shipped import shipped
from kpd.workspace.specs import (
    AcceptSpec,
    BenchSpec,
    BudgetSpec,
    BuildSpec,
    CheckSpec,
    FinalSpec,
    ProfileSpec,
    RooflineSpec,
    TaskFile,
    TaskSection,
)
from kpd.workspace.strict import ConfigError, Document

TASK_FILE = "task.toml"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
JUDGES = (TASK_FILE, C.files[1], CUDA.files[1])
MOST_FILES = 1000


class TaskError(ConfigError):
    """The error that a task folder is refused; the message says why, and the daemon goes on without the task."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task folder that passed every check.

    `editable` are the files that an agent may change, those of them that exist. In the `areas`, folders and globs, it
    may also add files and remove them, but the files in `kept`. `records` are the files and places that the task's own
    tools write: what is there is no part of the task. `baseline` says whether the editable files are right as they are:
    where they are "absent", an area may be the name of a file that a candidate has to add. `protected` is every other
    file in the folder, sorted.
    `sectioned` is the editable file of which only the kernel section may be changed; empty when there is none.
    `context` are the protected files that an agent is shown. `weights` are those of the cases that task.toml names.
    `where` are the conditions on points of [tune], see `kpd.workspace.expr.condition`.
    """

    name: str
    folder: Path
    summary: str
    language: str
    editable: tuple[str, ...]
    protected: tuple[str, ...]
    build: BuildSpec
    check: CheckSpec
    bench: BenchSpec
    need: Need
    budget: BudgetSpec
    tune: dict[str, tuple[str, ...]]
    roofline: RooflineSpec
    final: FinalSpec = field(default_factory=FinalSpec)
    profile: ProfileSpec = field(default_factory=ProfileSpec)
    sectioned: str = ""
    context: tuple[str, ...] = ()
    accept: AcceptSpec = field(default_factory=AcceptSpec)
    weights: dict[str, float] = field(default_factory=dict)
    where: tuple[str, ...] = ()
    areas: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    baseline: OwnFiles = "right"

    def allows(self, path: str) -> bool:
        """Return whether a candidate may have a file with this path: one that exists or a new one."""
        if path in self.editable:
            return True
        reserved = (*self.protected, *JUDGES, *C.files, *CUDA.files)
        plain = is_plain(path) and self.in_area(path) and not is_record(self.records, path)
        return plain and path not in reserved and clash((path,), reserved) is None

    def may_remove(self, path: str) -> bool:
        """Return whether a candidate may lack this file of the incumbent."""
        return self.in_area(path) and self.allows(path) and path not in self.kept

    def in_area(self, path: str) -> bool:
        return any(covers(area, path) for area in self.areas)

    @property
    def told(self) -> str:
        """The editable files and the places for new ones, for a message."""
        return ", ".join(dict.fromkeys((*(path for path in self.editable if not self.in_area(path)), *self.areas)))

    @property
    def own_score(self) -> str:
        """The key of the score that the task's own benchmark gives; empty where kpd computes it from the cases."""
        return self.bench.score if self.bench.command is not None and not self.weights else ""


def load_task(folder: Path) -> Task:
    """Read and check the task in `folder`. Raises TaskError."""
    path = folder / TASK_FILE
    if not folder.is_dir():
        raise TaskError(path, 0, "no such task folder", "kpd task list names those there are")
    try:
        document = Document.read(path)
        return _task(folder, document, document.convert(TaskFile))
    except TaskError:
        raise
    except ConfigError as err:
        raise TaskError(err.path, err.line, err.what, err.remedy) from err


def find_tasks(ws: Workspace) -> dict[str, Path]:
    """Return the folder of every task by name, loadable or not.

    A task of the workspace replaces a shipped one of the same name.
    """
    found: dict[str, Path] = {}
    for base in (shipped("tasks"), ws.tasks):
        folders = base.iterdir() if base.is_dir() else ()
        found |= {folder.name: folder for folder in folders if (folder / TASK_FILE).exists()}
    return dict(sorted(found.items()))


def card(task: Task) -> TaskCard:
    """Summarise the task for lists; `tunable` counts the points of its [tune] space, 0 without one."""
    points = prod(len(values) for values in task.tune.values()) if task.tune else 0
    return TaskCard(
        task.name, task.summary, task.language, task.editable, task.own_score or "us", task.bench.direction, points,
        task.need, unchecked=task.check.unchecked, areas=task.areas,
    )  # fmt: skip


def copy_task(folder: Path, to: Path) -> None:
    """Copy a task's folder, without the files that `ignored` names; all of it or nothing, if new. Raises OSError."""
    new = not to.exists()
    try:
        shutil.copytree(folder, to, ignore=lambda _, all: {name for name in all if ignored(name)}, dirs_exist_ok=True)
    except OSError:
        if new:
            shutil.rmtree(to, ignore_errors=True)
        raise


def _task(folder: Path, document: Document, file: TaskFile) -> Task:
    section = file.task
    if not NAME.fullmatch(section.name):
        raise document.error(f"the name {section.name!r} is not plain", "use letters, digits, _ and -", "task", "name")
    if section.name != folder.resolve().name:
        message = f"the name {section.name!r} is not that of its folder, {folder.resolve().name!r}"
        raise document.error(message, "rename one of them", "task", "name")
    language = spec_values.language(document, section.language)
    run_by_kpd = language.runner and file.bench.command is None and (folder / language.files[1]).exists()
    bring = language.commands and not run_by_kpd
    needed = () if bring else language.files
    editable = _editable(folder, document, section, (*JUDGES, *needed[1:]))
    files = tuple(task_files(folder, section.records))
    sectioned = _sectioned(folder, files, editable, language) if language.sectioned else _block(folder, editable, bring)
    for name in () if sectioned else needed:
        if name not in files:
            raise TaskError(folder / name, 0, "no such file", f"a task in {section.language} needs it")
    protected = tuple(name for name in files if name not in editable)
    absent = tuple(entry for entry in section.editable if not is_area(entry) and entry not in editable)
    areas = (*(entry for entry in section.editable if is_area(entry)), *absent)

    def is_editable(word: str) -> bool:
        inner = word.rstrip("/")
        is_folder = bool(inner) and not inner.startswith("/") and (folder / inner).is_dir()
        return word in editable or any(covers(area, word) or (is_folder and leads_to(area, inner)) for area in areas)

    _refuse_records(folder, document, section.records, (*editable, *areas), (*JUDGES, *needed[1:]))
    spec_rules.refuse(document, file, bring, bool(language.runner), is_editable, protected)
    spec_rules.refuse_check(document, file.check)
    spec_rules.refuse_bench(document, file.bench, weighted=bring and bool(file.cases))
    tune = tune_space.space(document, file.tune)
    return Task(
        name=section.name,
        folder=folder,
        summary=section.summary,
        language=section.language,
        editable=editable,
        protected=protected,
        build=file.build,
        check=file.check,
        bench=file.bench,
        need=file.need,
        budget=file.budget,
        tune=tune,
        where=tune_space.conditions(document, file.sweep.where, tune),
        roofline=spec_values.roofline(document, file.roofline),
        final=file.final,
        profile=spec_values.profile(document, file.profile),
        sectioned=sectioned,
        context=spec_values.context(document, section.context, protected),
        accept=file.accept,
        weights={name: case.weight for name, case in file.cases.items()},
        areas=areas,
        records=section.records,
        baseline=section.baseline,
        kept=(*(entry for entry in section.editable if not is_area(entry)), *needed[:1]),
    )


def _editable(folder: Path, document: Document, section: TaskSection, judges: Collection[str]) -> tuple[str, ...]:
    try:
        files = task_files(folder, section.records)
        return chosen(folder, section.editable, files, judges, may_lack=section.baseline == "absent")
    except BadEditable as err:
        raise document.error(str(err), err.remedy, "task", "editable") from err


def _refuse_records(
    folder: Path, document: Document, records: tuple[str, ...], editable: tuple[str, ...], judges: tuple[str, ...]
) -> None:
    try:
        refuse_records(folder, records, editable, judges)
    except BadRecords as err:
        raise document.error(str(err), err.remedy, "task", "records") from err


def _sectioned(folder: Path, files: tuple[str, ...], editable: tuple[str, ...], language: Language) -> str:
    """Return the editable file that holds kernel and harness; empty where each has its own file. Raises TaskError."""
    found = {name: (folder / name).read_bytes() for name in editable if name.endswith(language.sectioned)}
    found = {name: data for name, data in found.items() if sections.marked(data)}
    if not found:
        if any(name in files for name in language.files):
            return ""
        message = (
            f"no {' and '.join(language.files)},"
            f" and no editable {language.sectioned} file with a kernel and a harness section"
        )
        raise TaskError(folder, 0, message, "write either")
    *others, name = found
    others += [other for other in language.files if other in files and other != name]
    if others:
        raise TaskError(folder / name, 0, f"has a section's mark, and {others[0]} is there, too", "keep one of them")
    try:
        sections.split(found[name])
    except sections.SectionError as err:
        raise TaskError(folder / name, err.line, str(err), "mark one kernel and one harness section") from err
    return name


def _block(folder: Path, editable: tuple[str, ...], bring: bool) -> str:
    """Return the one editable file with an EVOLVE-BLOCK, in a task with its own benchmark; empty without one."""
    found = [name for name in editable if bring and sections.has_block((folder / name).read_bytes())]
    return found[0] if len(found) == 1 else ""


def task_files(folder: Path, records: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the path of every file of the task, sorted within each folder; those in `records` are none.

    Raises TaskError where there are too many files, or where a link leads to anything but a file of the same task.
    """
    count = 0
    home = folder.resolve()
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not ignored(name))
        for name in sorted(names + [name for name in folders if (Path(where) / name).is_symlink()]):
            path = Path(where) / name
            within = path.relative_to(folder).as_posix()
            if ignored(name) or not (path.is_symlink() or path.is_file()) or is_record(records, within):
                continue
            if path.is_symlink() and not (path.is_file() and path.resolve().is_relative_to(home)):
                raise TaskError(path, 0, "a link that leads out of the task's folder", "put the file itself here")
            count += 1
            if count > MOST_FILES:
                raise TaskError(folder, 0, f"more than {MOST_FILES} files", "keep data and builds elsewhere")
            yield within
