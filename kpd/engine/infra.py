"""Trouble that is nobody's fault: reaching a host again, and pausing a run with the reason."""

from dataclasses import replace

from kpd.engine.journal import Journal
from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.model import events as e


async def reach(journal: Journal, host: Host) -> None:
    """Connect if the link is down; jobs have gone on meanwhile. Raises HostError."""
    await host.connect()
    _note_link(journal, host, "")


def trouble(journal: Journal, run: str, host: Host, err: Exception) -> None:
    """Pause the run until a person says `resume`."""
    _note_link(journal, host, str(err) if isinstance(err, HostError) else "")
    journal.emit(e.RunPaused(run, f"infrastructure: {err}", by="kpd", infra=True))


def _note_link(journal: Journal, host: Host, error: str) -> None:
    card = journal.state.hosts[host.name]
    if (card.link == "up") != host.up:
        journal.emit(e.HostProbed(replace(card, link="up" if host.up else "down", error="" if host.up else error)))
