"""A workspace with a remote host, and the wait until it is connected."""

from collections.abc import Iterator
from typing import Any

import pytest

from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon
from tests.support.hosts.remote_box import Box, box


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
