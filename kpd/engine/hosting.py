"""A run and its host: reaching it again, what is known of it, and trouble that is nobody's fault."""

from dataclasses import replace

from kpd.engine.journal import Journal
from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.measure.bench import Bench
from kpd.model import events as e


async def reach(journal: Journal, host: Host) -> None:
    """Connect if the link is down; jobs have gone on meanwhile. Raises HostError."""
    await host.connect()
    _note_link(journal, host, "")


def note_peaks(journal: Journal, host: Host, bench: Bench) -> None:
    """Put what was measured of the device on the host's card."""
    card = journal.state.hosts[host.name]
    measured = replace(card, bandwidth_gbs=bench.peaks[0], peak_gflops=bench.peaks[1])
    if measured != card:
        journal.emit(e.HostProbed(measured))


class Again(Exception):
    """The run is paused by trouble; after `resume` it goes on from its last finished step, its host made ready anew."""


async def trouble(journal: Journal, run: str, host: Host, err: Exception) -> None:
    """Pause the run until a person says `resume`. The link is given up, so that the next one begins afresh."""
    _note_link(journal, host, str(err) if isinstance(err, HostError) else "")
    journal.emit(e.RunPaused(run, f"infrastructure: {err}", by="kpd", infra=True))
    if isinstance(err, HostError):
        await host.close()


def _note_link(journal: Journal, host: Host, error: str) -> None:
    card = journal.state.hosts[host.name]
    if (card.link == "up") != host.up:
        journal.emit(e.HostProbed(replace(card, link="up" if host.up else "down", error="" if host.up else error)))
