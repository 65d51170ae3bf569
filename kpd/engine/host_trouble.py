"""Handles errors of a run's host: waits, retries, or pauses the run."""

from kpd.engine.control import Control
from kpd.engine.host_pool import HostPool
from kpd.engine.journal import Journal, run_of
from kpd.engine.peaks import with_peaks
from kpd.engine.waiting import set_waiting
from kpd.hosts.errors import LOST, HostError
from kpd.hosts.host import Host
from kpd.measure.bench import Bench
from kpd.model import events as e
from kpd.model.waits import DeviceBusy, DiskTrouble, IncumbentToo, Pause
from kpd.workspace.disk import explained

BUSY_S = 10.0
"""How long to wait before a device that others use is tried again."""


def note_peaks(pool: HostPool, host: str, bench: Bench) -> None:
    """Show the device's measured peaks on its host's card."""
    pool.note(with_peaks(pool.card(host), bench.device, bench.peaks))


class RunRestart(Exception):
    """The run has to prepare its host anew and go on after its last finished step, after trouble once it is resumed."""


class IncumbentHasIt(HostError):
    """Trouble `err` of a candidate, which the incumbent had in its place, too: `said` is what it met there."""

    def __init__(self, err: HostError, run: str, incumbent: int, said: str) -> None:
        super().__init__(err.kind, err.message, err.remedy)
        self.pause = IncumbentToo(err.fact, run, incumbent, said)


async def handle_trouble(journal: Journal, control: Control, run_id: str, host: Host, err: Exception) -> None:
    """Respond to an error of the host or disk: wait for a busy device or a lost host, else pause the run.

    A paused run goes on when a person says `resume`. Raises Interrupted.
    """
    passes = isinstance(err, HostError) and not isinstance(err, IncumbentHasIt)
    if isinstance(err, HostError) and passes and err.kind in LOST:
        set_waiting(journal, run_of(journal, run_id), err.wait, control.lane)
        return
    if isinstance(err, HostError) and passes and err.kind == "busy":
        set_waiting(journal, run_of(journal, run_id), DeviceBusy(err.fact, BUSY_S), control.lane)
        await control.rest(BUSY_S)
        set_waiting(journal, run_of(journal, run_id), None, control.lane)
        return
    journal.emit(e.RunPaused(run_id, _pause(err), by="kpd", infra=True))
    if isinstance(err, HostError):
        await host.renew()


def _pause(err: Exception) -> Pause:
    if isinstance(err, IncumbentHasIt):
        return err.pause
    if isinstance(err, HostError):
        return err.fact
    return DiskTrouble(explained(err, "the workspace", "")[0] if isinstance(err, OSError) else str(err))
