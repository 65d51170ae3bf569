"""Records what a run waits for without being paused, and clears it afterwards."""

from kpd.engine.journal import Journal, holding, run_of
from kpd.model import events as e
from kpd.model.state import Run
from kpd.model.waits import Wait


def set_waiting(journal: Journal, run: Run, wait: Wait | None) -> None:
    """Say what the run waits for, if that is news; None: it does not wait any more."""
    if run.waiting != wait:
        with holding(journal):
            journal.emit(e.RunWaits(run.id, wait))


class WaitReporter:
    """What a step of a run waits for, to be said again and again: a link that comes back says that nothing is.

    It never takes the place of what somebody else says, such as a host's trouble.
    """

    def __init__(self, journal: Journal, run: str) -> None:
        self._journal = journal
        self._run = run
        self._said: Wait | None = None

    def __call__(self, wait: Wait | None) -> None:
        run = run_of(self._journal, self._run)
        if run.waiting not in (None, self._said):
            return
        if self._journal.state.held and wait == self._said:
            return  # the log may be out of reach, and each try would be told to all who listen
        self._said = wait
        set_waiting(self._journal, run, wait)
