"""Reads the journals of deployments into events: commands deploy and keep them, and the daemon alone writes the log."""

import asyncio
import logging
from collections.abc import Iterator

from kpd.engine.journal import Journal, holding
from kpd.model import events as e
from kpd.model.deployments import DeploymentCard
from kpd.workspace.deployments import DeploymentJournal
from kpd.workspace.paths import Workspace
from kpd.workspace.projects import PROJECT_NAME

EVERY_S = 5.0
log = logging.getLogger(__name__)


class DeploymentReader:
    """Emits what has happened in deployments since it last looked; a phase that was over by then is left out.

    While one is under way it looks every EVERY_S: a process that is killed changes no file. So it does until the log
    has taken everything.
    """

    def __init__(self, workspace: Workspace, journal: Journal) -> None:
        self._workspace = workspace
        self._journal = journal
        self._timer: asyncio.TimerHandle | None = None

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def look(self) -> None:
        self.close()
        again = True
        with holding(self._journal):
            cards = list(deployments(self._workspace))
            for card in cards:
                if card.differs(self._journal.state.deployments.get(card.key)):
                    self._journal.emit(e.DeploymentSeen(card.deployment.run, card))
            again = any(card.deployment.state == "open" and not card.cut for card in cards)
        if again:
            self._timer = asyncio.get_running_loop().call_later(EVERY_S, self.look)


def deployments(workspace: Workspace) -> Iterator[DeploymentCard]:
    """Read the deployments of all projects, of each the oldest first; a folder that cannot be read is left out.

    One that was begun before nobody held the journal, and is open after that, was cut off.
    """
    for folder in sorted(workspace.deployments.glob("*/")):
        if not PROJECT_NAME.fullmatch(folder.name):
            continue
        journal = DeploymentJournal(folder)
        try:
            begun = journal.numbers
            left = () if journal.busy else begun
            found = journal.all()
        except OSError as err:
            log.warning("the deployments in %s cannot be read: %s", folder, err)
            continue
        for one in found:
            yield DeploymentCard(folder.name, one, cut=one.state == "open" and one.number in left)
