"""Brings what became of winners in production into the memories of their tasks, and from there into the patterns."""

from collections.abc import Callable

from kpd.knowledge import memory, patterns
from kpd.model.deployments import lesson
from kpd.model.run import Run
from kpd.text.deployments import learned
from kpd.workspace.deployments import DeploymentJournal, OpenDeployment
from kpd.workspace.paths import Workspace


def remember(ws: Workspace, name: str, journal: DeploymentJournal, run_of: Callable[[str], Run | None]) -> None:
    """Write an entry for each deployment that has ended since and says something of its candidate, once.

    So memory says what the journal of the project says, also where a process was killed in between, and what people
    make of an entry stays. A run that nobody knows any more waits. Raises OSError: then the next call goes on.
    """
    waiting = [one for one in journal.all() if one.state != "open" and not one.remembered]
    for one in waiting:
        word = lesson(one)
        if word is not None:
            run = run_of(one.run)
            iteration = run.iteration(one.iteration) if run is not None else None
            if run is None or iteration is None or iteration.started > one.at:  # ids start again with a new log
                continue
            memory.in_production(ws, run, iteration, word, learned(name, one), one.ended or one.at)
        OpenDeployment(journal.folder, one.number).note(remembered=True)
    if waiting:
        patterns.regenerate(ws)
