"""Records what a run waits for without being paused, and clears it afterwards."""

from kpd.engine.journal import Journal, holding, run_of
from kpd.model import events as e
from kpd.model.lanes import waits_in
from kpd.model.run import Run
from kpd.model.waits import Wait


def set_waiting(journal: Journal, run: Run, wait: Wait | None, lane: int = 0) -> None:
    """Record what the run waits for in a lane, if that has changed; None: it does not wait any more."""
    if waits_in(run, lane) != wait:
        with holding(journal):
            journal.emit(e.RunWaits(run.id, wait, lane))


class WaitReporter:
    """A function that reports what a step waits for, again and again: a link that comes back clears it.

    It never replaces a wait that somebody else has reported, such as trouble with a host.
    """

    def __init__(self, journal: Journal, run: str, lane: int = 0) -> None:
        self._journal = journal
        self._run = run
        self._lane = lane
        self._said: Wait | None = None

    def __call__(self, wait: Wait | None) -> None:
        run = run_of(self._journal, self._run)
        if waits_in(run, self._lane) not in (None, self._said):
            return
        if self._journal.state.held and wait == self._said:
            return  # the log may be unwritable, and each try would be broadcast
        self._said = wait
        set_waiting(self._journal, run, wait, self._lane)
