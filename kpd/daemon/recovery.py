"""After a crash: nothing left running, nothing lost, nothing done twice — and nothing restarted without a person."""

from kpd.engine.journal import Journal
from kpd.hosts.host import Host
from kpd.model import events as e
from kpd.model.nouns import Run


async def recover(journal: Journal, hosts: dict[str, Host], clean_end: bool) -> None:
    """Make a former daemon's run safe to go on with. Raises HostError.

    Its jobs that still run are killed by their process group, and run again when their step is begun again; jobs that
    have finished keep their results and are not run again. The queue waits for `resume`.
    """
    killed = 0
    for host in hosts.values():
        if host.up:
            for job in await host.running():
                killed += await host.kill(job)
    run = journal.state.active or next(iter(journal.state.queue), None)
    if journal.state.held or run is None or (clean_end and run.status == "queued"):
        return
    where = f"{run.id} was at {_place(run)}"
    how = "the daemon was shut down" if clean_end else "the daemon ended without a goodbye"
    also = f"; {killed} of its processes were ended" if killed else ""
    journal.emit(e.QueueHeld(f"{how}, {where}{also}: resume goes on from there, stop ends it"))


def _place(run: Run) -> str:
    if run.status == "queued":
        return "the head of the queue"
    if run.current is None:
        return "the beginning" if not run.iterations else f"the end of iteration {run.iterations[-1].number}"
    return f"iteration {run.current.number}, {run.current.step or 'before its first step'}"
