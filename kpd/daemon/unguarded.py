"""Looks at the projects on a host whose link has come up, whether anybody there restores what is half changed.

A restart of the host ends whoever did. A look itself starts that again (`op_status`), and it is told.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

from kpd.daemon.journal import EventJournal, Message
from kpd.engine.journal import holding
from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.model import events as e
from kpd.model.notices import Unguarded
from kpd.production.place import ProjectPlace
from kpd.production.program import PlaceError
from kpd.workspace.config import Config
from kpd.workspace.projects import ProjectConfig

log = logging.getLogger(__name__)

WAITS_S = (0.0, 10.0, 60.0, 300.0)
"""Before each look at a project of which nothing is known yet: a host may answer before its homes are mounted."""


class ProjectLooker:
    """Looks each time that a link has come up, and again after `waits` where that says nothing."""

    def __init__(
        self, journal: EventJournal, settings: Callable[[], Config], hosts: Mapping[str, Host],
        waits: Sequence[float] = WAITS_S,
    ) -> None:  # fmt: skip
        self._journal = journal
        self._settings = settings
        self._hosts = hosts
        self._waits = waits
        self._looks: dict[str, asyncio.Task[None]] = {}

    def begin(self) -> None:
        self._journal.subscribe(self._heard)

    def close(self) -> None:
        for name in tuple(self._looks):
            self._end(name)

    def _heard(self, message: Message) -> None:
        match message:
            case e.Event(fact=e.HostProbed(card=card)) if card.link != "up":
                self._end(card.name)
            case e.Event(fact=e.HostRemoved(host=name)):
                self._end(name)
            case e.Event(fact=e.HostProbed(card=card)) if card.name not in self._looks:
                self._looks[card.name] = asyncio.create_task(self._look(card.name))

    def _end(self, name: str) -> None:
        if (looking := self._looks.pop(name, None)) is not None:
            looking.cancel()

    async def _look(self, name: str) -> None:
        """Look at the host's projects until something is known of each; after the last look the next card begins anew.

        No change at all may mean that the home is not mounted yet, and is believed only the last time.
        """
        known, failed = set[str](), False
        for wait_s in self._waits:
            await asyncio.sleep(wait_s)
            failed, config = False, self._settings()
            left = {key: one for key, one in config.project.items() if one.host == name and key not in known}
            host = self._hosts.get(name)
            if host is None or not left:
                return
            for project, told in left.items():
                try:
                    if await self._changed(host, project, told, config.hosts[name].python):
                        known.add(project)
                except (HostError, PlaceError) as err:
                    failed = True
                    log.warning("whether %s is half changed is not known: %s", project, err)
        if failed:
            del self._looks[name]

    async def _changed(self, host: Host, project: str, told: ProjectConfig, python: str) -> bool:
        """Return whether the host knows of a change of the project. Raises HostError, PlaceError."""
        found = await ProjectPlace(host, told, python).status()
        if found.change is not None and found.change.state in ("open", "restoring") and not found.switch:
            with holding(self._journal):
                self._journal.emit(e.Noticed("warning", Unguarded(project, told.host, found.change.purpose)))
        return found.change is not None
