"""A real daemon with hosts behind a real sshd: found, lost, found again; and never a job twice."""

from collections.abc import Iterator
from typing import Any

import pytest

from kpd.client import DaemonError
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.hosts.remote_box import Box, box

__all__ = ["daemon", "workspace"]


@pytest.fixture
def remote(workspace: Workspace) -> Iterator[Box]:
    with box(workspace.root.parent) as found:
        configure(workspace, found)
        yield found


def configure(workspace: Workspace, *boxes: Box, **more: str) -> None:
    leases = workspace.root.parent / "leases"
    tables = [table.table(leases=f'"{leases}-{table.name}"', **more) for table in boxes]
    (workspace.root / "config.toml").write_text("\n".join(tables))


def card(daemon: RealDaemon, name: str) -> dict[str, Any]:
    found: dict[str, Any] = daemon.query("status")["hosts"].get(name, {"link": "down", "trouble": ""})
    return found


def until_up(daemon: RealDaemon, *names: str) -> None:
    daemon.until(lambda: all(card(daemon, name)["link"] == "up" for name in names), f"{names} to be up")


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
