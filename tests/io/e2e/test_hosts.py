"""A real daemon with hosts behind a real sshd: found, lost, found again; and never a job twice."""

import pytest

from kpd.client import DaemonError
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.e2e.hosts import card, remote, until_up
from tests.support.hosts.remote_box import Box
from tests.support.hosts.ssh import box

__all__ = ["box", "daemon", "remote", "workspace"]


def test_an_unknown_key_waits_for_a_person(daemon: RealDaemon, remote: Box) -> None:
    known = remote.home / ".ssh" / "known_hosts"
    known.unlink()
    daemon.start()
    daemon.until(lambda: card(daemon, "box")["trouble"] == "host_key", "the key to be offered")
    offered = card(daemon, "box")["offered"]
    assert offered.startswith("SHA256:")
    with pytest.raises(DaemonError, match="has not offered"):
        daemon.command("trust", host="box", fingerprint="SHA256:somethingelse")
    assert card(daemon, "box")["link"] == "down" and not known.exists()
    daemon.command("trust", host="box", fingerprint=offered)
    until_up(daemon, "box")
    assert card(daemon, "box")["offered"] == ""
    assert remote.server.host_key_pub in known.read_text()
