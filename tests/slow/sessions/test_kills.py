"""Six kills of the daemon and of its agent; benchmarks/session_kills.py does a hundred."""

from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.sessions.killing import kill_often

__all__ = ["daemon", "workspace"]


def test_no_session_is_lost_none_is_billed_twice_and_nothing_is_left(daemon: RealDaemon, workspace: Workspace) -> None:
    found = kill_often(daemon, workspace, 6)
    assert found.daemon_kills
    assert found.agent_kills
    assert found.children, "the agent had processes of its own"
    assert (found.lost, found.orphans, found.double_bills, found.unbilled) == (0, 0, 0, 0)
