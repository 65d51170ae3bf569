"""How an agent is started: what it gets of the daemon's environment, and what its sandbox opens."""

from functools import partial
from pathlib import Path

import pytest

from kpd.sessions import program
from kpd.sessions.folder import SessionFolder
from kpd.sessions.network import Reach
from kpd.workspace.coding_agents import AgentConfig
from kpd.workspace.endpoints import endpoint
from kpd.workspace.paths import Workspace


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with the agent in a folder on the PATH, which is all of the environment."""
    bin_ = tmp_path / "home" / "bin"
    bin_.mkdir(parents=True)
    (bin_ / "mine").write_text("#!/bin/sh\n")
    (bin_ / "mine").chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{bin_}:/usr/bin")
    monkeypatch.setenv("A_SECRET", "of the operator")
    return tmp_path / "home"


def test_an_agent_gets_its_keys_and_its_folder_and_nothing_of_the_operators(home: Path, tmp_path: Path) -> None:
    folder, ws = SessionFolder(tmp_path / "ws" / "runs" / "[1]" / "session"), Workspace(tmp_path / "ws")
    settings = AgentConfig(command=("mine", "--acp"), env={"DEBUG": "1"}, reads=("/data",), confined=False)
    found = program.order(settings, folder, ws, {"MY_KEY": "k"}, folder.root / "kpd.sock")
    assert found.argv == (str(home / "bin" / "mine"), "--acp")
    assert found.cwd == str(folder.tree)
    assert {name: found.env[name] for name in ("HOME", "TMPDIR", "MY_KEY", "DEBUG", "KPD_SESSION")} == {
        "HOME": str(folder.state), "TMPDIR": str(folder.scratch), "MY_KEY": "k", "DEBUG": "1",
        "KPD_SESSION": str(folder.root / "kpd.sock"),
    }  # fmt: skip
    assert "A_SECRET" not in found.env
    assert "/data" in found.reads
    assert not {str(home), str(ws.root), str(tmp_path)} & set(found.reads)
    literal = str(folder.root).replace("[1]", "[[]1]")
    assert literal in found.reads, "a name is no pattern"
    assert found.writes == (f"{literal}/tree", f"{literal}/state", f"{literal}/tmp", f"{literal}/tool")
    assert not found.confined


def test_a_socket_elsewhere_is_opened_by_itself(home: Path, tmp_path: Path) -> None:
    folder, socket = SessionFolder(tmp_path / "ws" / "session"), tmp_path / "short" / "s.sock"
    found = program.order(AgentConfig(exec=("mine",)), folder, Workspace(tmp_path / "ws"), {}, socket)
    assert str(socket) in found.reads
    assert str(socket.parent) not in found.reads
    assert found.confined


def test_with_a_network_of_its_own_the_agent_is_told_of_the_proxy(home: Path, tmp_path: Path) -> None:
    folder, reach = SessionFolder(tmp_path / "ws" / "session"), Reach(frozenset({endpoint("http://127.0.0.1:3128")}))
    order = partial(program.order, AgentConfig(exec=("mine",)), folder, Workspace(tmp_path / "ws"), {}, folder.root)
    found = order(reach)
    assert found.ports == (3129, 3128)
    assert found.env["HTTPS_PROXY"] == found.env["https_proxy"] == "http://127.0.0.1:3129"
    assert order(None).ports is None
    assert "HTTPS_PROXY" not in order(None).env
