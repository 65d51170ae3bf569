"""Reading the workspace's files into events: tasks as they are now, refused ones with the reason."""

from dataclasses import replace

from kpd.engine.journal import Journal
from kpd.model import events as e
from kpd.model.nouns import TaskCard
from kpd.workspace.paths import Workspace
from kpd.workspace.task import TaskError, card, find_tasks, load_task


def survey_tasks(workspace: Workspace, journal: Journal) -> None:
    """Emit what has changed among the tasks since they were last read."""
    known = journal.state.tasks
    found: dict[str, TaskCard] = {}
    for name, folder in find_tasks(workspace).items():
        try:
            found[name] = card(load_task(folder))
        except (TaskError, OSError) as err:  # its runs are still told by the direction and the unit of before
            found[name] = replace(known.get(name, TaskCard(name)), error=str(err))
    for name, now in found.items():
        if known.get(name) != now:
            journal.emit(e.TaskLoaded(now))
    for name in known.keys() - found.keys():
        journal.emit(e.TaskRemoved(name))
