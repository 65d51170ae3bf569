"""Makes a task of a folder that others wrote: recognises it, copies it, writes task.toml, and reads its benchmark."""

import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kpd.imports import native
from kpd.imports.draft import Answers, TaskDraft, toml
from kpd.imports.errors import ImportRefused, OpenQuestion, Unclear
from kpd.imports.failing import failure
from kpd.imports.importer import Recognised, recognised
from kpd.imports.probe import Ran, run_once
from kpd.imports.reading import BenchmarkReading, understand
from kpd.imports.runner_task import FOLDER, KPD
from kpd.imports.source import ForeignFolder, read_folder
from kpd.measure.command.result import last_object
from kpd.workspace.editable import clash, is_plain
from kpd.workspace.paths import inside
from kpd.workspace.records import folders
from kpd.workspace.run_files import write_atomic
from kpd.workspace.task import TASK_FILE

LIMIT_S = 600.0
"""The most seconds that the first run of a benchmark may take."""


@dataclass(slots=True)
class Brought:
    """A task in a temporary folder, with what was understood of it.

    `run` is the first run of its benchmark, `reading` what that printed; both are None where kpd's own runner measures,
    or where the benchmark could not run here.
    """

    folder: Path
    kind: Recognised
    draft: TaskDraft
    run: Ran | None = None
    reading: BenchmarkReading | None = None
    notes: list[str] = field(default_factory=list)

    def write(self) -> None:
        """Write task.toml as it stands, with what was assumed and what is weak as its first lines."""
        draft = self.draft
        told = [*(f"assumed: {text}" for text in draft.assumed), *(f"weak: {text}" for text in draft.weak)]
        write_atomic(self.folder / TASK_FILE, toml(draft.toml, [f"From a folder of {self.kind.name}.", *told]))


def bring(path: Path, into: Path, name: str, answers: Answers, form: str = "") -> Brought:
    """Make the folder `into`/`name` of what lies at `path`; nothing is run. Raises ImportRefused, Unclear, OSError."""
    source = read_folder(path)
    kind = recognised(source, form)
    draft = _measured(kind, source, answers)
    draft.toml["task"]["name"] = name
    draft.put("bench", "command", answers.bench)
    if draft.get("bench", "command") is None and (answers.score or answers.direction):
        remedy = "leave out --score and --direction"
        raise ImportRefused("kpd's own runner measures this task: its score is a time, and lower is better", remedy)
    draft.put("bench", "score", answers.score)
    draft.put("bench", "direction", answers.direction)
    draft.put("check", "command", answers.check)
    draft.put("check", "good", list(answers.good))
    if answers.unchecked and not draft.checked and draft.get("check", "command") is None:
        draft.put("check", "unchecked", True)
    found = Brought(into / name, kind, draft)
    _copy(source, draft, found.folder)
    found.notes += [f"left out: {one}" for one in source.left_out]
    if source.products:
        found.notes.append(f"not copied, made by a build or a run: {', '.join(source.products[:8])}")
    if not draft.copied and not draft.made:
        raise ImportRefused(f"{path} has no file for a task", "name the folder of one task")
    found.write()
    return found


def _measured(kind: Recognised, source: ForeignFolder, answers: Answers) -> TaskDraft:
    """Return the draft of a folder, measured by whom the operator says. Raises ImportRefused, Unclear."""
    draft = kind.importer.draft(source, answers)
    theirs = draft.get("bench", "command") is not None
    if answers.measured_by == FOLDER and not theirs and not answers.bench:
        raise ImportRefused(
            f"a folder of {kind.name} has no benchmark that kpd knows how to run",
            f"name one with --bench, or leave out --measured-by {FOLDER}",
        )
    return native.beside(source, draft, answers) if answers.measured_by == KPD and theirs else draft


def _copy(source: ForeignFolder, draft: TaskDraft, to: Path) -> None:
    """Write the files of the task, all of them below `to`. Raises ImportRefused, OSError."""
    named = (path.removesuffix("/") for path in draft.get("task", "editable") or ())
    for path in (*draft.copied, *draft.made, *named):
        if not is_plain(path):
            raise ImportRefused(f"a file of the task would be {path!a}", "give it a plain path within the folder")
    if (pair := clash(draft.copied, (*draft.copied, *draft.made))) is not None:
        raise ImportRefused(f"{pair[0]} and {pair[1]} cannot be files of one folder everywhere", "rename one of them")
    for path in draft.copied:
        target = inside(to, path)
        write_atomic(target, source.data(path))
        target.chmod((source.root / path).stat().st_mode & 0o755 | 0o600)
    for path, data in draft.made.items():
        write_atomic(inside(to, path), data)


def read_benchmark(found: Brought, answers: Answers) -> None:
    """Run the task's benchmark once, and complete [bench] by what it prints. Raises ImportRefused, Unclear, OSError."""
    draft = found.draft
    command = draft.get("bench", "command")
    if command is None:
        return
    most = float(draft.get("bench", "limit_s") or LIMIT_S)
    found.run = run = run_once(found.folder, command, most, folders(tuple(draft.get("task", "records") or ())))
    if run.rc != 0 and not answers.baseline:
        raise failure(run, (*draft.copied, *draft.made), most)
    if answers.baseline and run.rc != 0:
        _unread(draft, answers)
        found.write()
        return
    known = {key: draft.get("bench", key) for key in ("score", "direction") if draft.get("bench", key)}
    found.reading = reading = understand(run.stdout, draft.prefers, known, answers)
    draft.put("bench", "score", reading.score)
    draft.put("bench", "direction", reading.direction)
    if reading.cases and draft.get("bench", "cases") is None:
        draft.put("bench", "cases", reading.cases)
        draft.put("bench", "unit", reading.unit)
    _pin(draft, run.stdout)
    limit = max(60, round(10 * run.seconds))
    draft.put("bench", "limit_s", draft.get("bench", "limit_s") or limit)
    if draft.get("check", "command"):
        draft.put("check", "limit_s", draft.get("check", "limit_s") or limit)
    if draft.get("final", "command"):
        draft.put("final", "limit_s", draft.get("final", "limit_s") or 4 * limit)
    found.write()


def _pin(draft: TaskDraft, stdout: str) -> None:
    """Make the verdict of a value that the first run printed, such as a checksum, if the draft names one."""
    result = last_object(stdout) or {}
    for key in draft.pins:
        if isinstance(value := result.get(key), str):
            draft.put("bench", "verdict", {"key": key, "good": [value]})
            draft.weak.append(f"a result is right if its {key} is {value}, to the last digit: nothing else is compared")
            return


def _unread(draft: TaskDraft, answers: Answers) -> None:
    """Take the keys of [bench] from what the operator says: a benchmark that fails tells none."""
    score = answers.score or draft.get("bench", "score")
    if not score:
        raise Unclear(OpenQuestion("--score", "the benchmark fails, so it tells no score: which key will it have?"))
    direction = answers.direction or draft.get("bench", "direction")
    if not direction:
        raise Unclear(OpenQuestion("--direction", f"is a lower or a higher {score!r} better?", ("lower", "higher")))
    draft.put("bench", "score", score)
    draft.put("bench", "direction", direction)


def refuse_unchecked(found: Brought, answers: Answers) -> None:
    """Raise Unclear where nothing compares the results, unless the operator says so."""
    draft, reading = found.draft, found.reading
    judged = draft.checked or draft.judges or draft.get("check", "command") or draft.get("bench", "verdict")
    if judged or answers.unchecked:
        return
    if reading is None or not reading.confirmed:
        said = ", ".join(reading.said) if reading is not None and reading.said else "nothing"
        text = (
            f"nothing compares the results: of its correctness the benchmark says {said}. How is a candidate checked?"
        )
        raise Unclear(OpenQuestion("--check", text), OpenQuestion("--unchecked", "or is nothing to check them?"))


def quoted(*words: str) -> str:
    return " ".join(map(shlex.quote, words))


def described(draft: TaskDraft) -> dict[str, Any]:
    """Return what of the draft is told, as plain values."""
    return {"toml": draft.toml, "assumed": draft.assumed, "weak": draft.weak, "made": sorted(draft.made)}
