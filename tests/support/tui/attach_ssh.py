"""A cockpit that is attached over SSH."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kpd.cli.remote_daemon import RemoteDaemon
from tests.support.cli.terminal import Place, Terminal
from tests.support.daemon.real_daemon import RealDaemon
from tests.support.hosts.remote_box import Box, box
from tests.support.tui.attached import Watched
from tui.model.feed import Feed, dialling


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Box]:
    """The far machine, called box; the operator's home here has its key."""
    with box(tmp_path) as made:
        monkeypatch.setenv("HOME", str(made.home))
        yield made


@pytest.fixture
def there(daemon: RealDaemon) -> RealDaemon:
    daemon.start()
    return daemon


def watched(at: RemoteDaemon, read_only: bool = False) -> Watched:
    dial = dialling(lambda: at.socket, read_only, explain=at.explain)

    async def connect() -> Feed:
        await at.linked()
        return await dial()

    return Watched(connect)


def at_terminal(gate: Box, there: RealDaemon, *args: str) -> Terminal:
    place = Place(there.workspace.root, os.environ.get("XDG_RUNTIME_DIR", ""))
    place.env["HOME"] = str(gate.home)
    return Terminal(place, "attach", "--ssh", "box", *args)
