"""Finds all errors in a task that can be found without compiling it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from kpd.agents.space import SpaceError, read_point
from kpd.measure.catalogue import flags_of
from kpd.measure.flags import BUILD_FILE, FlagError
from kpd.workspace.run_files import read_files
from kpd.workspace.strict import Document
from kpd.workspace.task import TASK_FILE, Task, TaskError, load_task


def problems(folder: Path) -> list[str]:
    """Return each problem of the task in `folder` as "path:line: what; remedy"; empty without any. Raises OSError."""
    try:
        task = load_task(folder)
    except TaskError as err:
        return [str(err)]
    return [*_of_build(task), *_of_tune(task)]


def _of_build(task: Task) -> Iterator[str]:
    flags = flags_of(task)
    if flags is None or BUILD_FILE not in task.editable:
        return
    try:
        flags.of_build_json((task.folder / BUILD_FILE).read_bytes())
    except FlagError as err:
        yield f"{task.folder / BUILD_FILE}: {err}"


def _of_tune(task: Task) -> Iterator[str]:
    """Yield a problem for each parameter that no editable file has, and for each set of flags that is not allowed."""
    document = Document.read(task.folder / TASK_FILE)
    files = read_files(task.folder, task.editable)
    flags = flags_of(task)
    for name, values in task.tune.items():
        place = f"{document.path}:{document.line('tune', name)}"
        try:
            read_point(replace(task, tune={name: values}), files)
        except SpaceError as err:
            yield f"{place}: {err}"
        if flags is None or name != "flags":
            continue
        for value in values:
            try:
                flags.parse(value)
            except FlagError as err:
                yield f"{place}: {err}"
