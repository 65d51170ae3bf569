"""What runs wait for while they are not paused: said on the run, and forgotten when it has come."""

from kpd.engine.journal import Journal, holding
from kpd.model import events as e
from kpd.model.nouns import Run


def tell(journal: Journal, run: Run, reason: str) -> None:
    """Say what the run waits for, if that is news; an empty reason: it does not wait any more."""
    if run.waiting != reason:
        with holding(journal):
            journal.emit(e.RunWaits(run.id, reason))
