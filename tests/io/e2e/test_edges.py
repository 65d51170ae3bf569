"""What people and hosts do at the wrong moment, on a real daemon."""

from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace

__all__ = ["daemon", "workspace"]


def test_numbers_that_no_event_has(daemon: RealDaemon) -> None:
    daemon.start()
    assert daemon.query("events", after=10**30) == []
