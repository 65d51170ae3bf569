"""Looks at the projects on a host whose link has come up, whether anybody there restores what is half changed.

A restart of the host ends whoever did. The look itself starts that again (`op_status`), and it is told.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping

from kpd.daemon.journal import EventJournal, Message
from kpd.engine.journal import holding
from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.model import events as e
from kpd.model.notices import Unguarded
from kpd.production.place import ProjectPlace
from kpd.production.program import PlaceError
from kpd.workspace.config import Config

log = logging.getLogger(__name__)


class ProjectLooker:
    """Looks once each time that a link has come up."""

    def __init__(self, journal: EventJournal, settings: Callable[[], Config], hosts: Mapping[str, Host]) -> None:
        self._journal = journal
        self._settings = settings
        self._hosts = hosts
        self._up: set[str] = set()
        self._looking: set[asyncio.Task[None]] = set()

    def begin(self) -> None:
        self._journal.subscribe(self._heard)

    def close(self) -> None:
        for task in self._looking:
            task.cancel()

    def _heard(self, message: Message) -> None:
        match message:
            case e.Event(fact=e.HostProbed(card=card)) if card.link != "up":
                self._up.discard(card.name)
            case e.Event(fact=e.HostRemoved(host=name)):
                self._up.discard(name)
            case e.Event(fact=e.HostProbed(card=card)) if card.name not in self._up:
                self._up.add(card.name)
                task = asyncio.create_task(self._look(card.name))
                self._looking.add(task)
                task.add_done_callback(self._looking.discard)

    async def _look(self, name: str) -> None:
        config = self._settings()
        for project, told in config.project.items():
            host = self._hosts.get(name)
            if told.host != name or host is None:
                continue
            try:
                found = await ProjectPlace(host, told, config.hosts[name].python).status()
            except (HostError, PlaceError) as err:
                log.warning("whether %s is half changed is not known: %s", project, err)
                continue
            if found.change is not None and found.change.state in ("open", "restoring") and not found.switch:
                with holding(self._journal):
                    self._journal.emit(e.Noticed("warning", Unguarded(project, name, found.change.purpose)))
