"""What an agent is asked, for tests: a task as it lies on disk, and a context whose artefacts land in a real folder."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kpd.agents.agent import Context
from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.model.spending import Purpose, Usage
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import IterationFolder
from kpd.workspace.task import Task, load_task
from tests.places import ROOT
from tests.support.model.samples import run_of, task_of

TASKS = ROOT / "tasks"


class Free:
    """The accounts of somebody who pays nothing and counts nothing."""

    def begin(self, purpose: Purpose, model: str, most_usd: float | None) -> int:
        """Always."""
        return 1

    def billed(self, call: int, usage: Usage, usd: float | None, cut: bool) -> None:
        """Never."""


async def at_once() -> None:
    """For somebody who is never paused."""


@dataclass
class Heard:
    """What an agent said of what it waits for, in order."""

    waits: list[str] = field(default_factory=list)


def shipped(name: str) -> tuple[Task, dict[str, bytes]]:
    """A shipped task, and its editable files as the incumbent."""
    task = load_task(TASKS / name)
    return task, {path: (task.folder / path).read_bytes() for path in task.editable}


def made(folder: Path, files: dict[str, str], editable: tuple[str, ...], language: str = "cuda") -> Task:
    """A task of these files, which need not be one that can be measured."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    protected = tuple(sorted(path for path in files if path not in editable))
    return replace(task_of(folder, {}, editable), language=language, protected=protected)


def asked(
    root: Path,
    task: Task,
    incumbent: dict[str, bytes],
    *iterations: Iteration,
    heard: Heard | None = None,
    **given: Any,
) -> Context:
    """The newest of `iterations` is the one that is asked for, number 1 without any."""
    run: Run = run_of(*iterations)
    number = iterations[-1].number if iterations else 1
    workspace = Workspace(root)
    home = workspace.iteration_folder(run.task, run.id, number)
    home.mkdir(parents=True, exist_ok=True)
    return Context(
        task=task, run=run, number=number, incumbent=incumbent, folder=task.folder, home=home, workspace=workspace,
        say=lambda text: None, keep=IterationFolder(home).write, waits=(heard or Heard()).waits.append, ready=at_once,
        ledger=Free(),
        **given,
    )  # fmt: skip
