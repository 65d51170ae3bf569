"""Comparisons of a built tool with none, in whole runs of a scripted coding agent by a real daemon."""

from pathlib import Path
from typing import Any

import pytest

from kpd.wire import DaemonError
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.sessions.scripted import agent, kernel
from tests.support.tools.built import server_tool, write_tool

__all__ = ["daemon", "workspace"]


def begin(daemon: RealDaemon, folder: Path, trials: int, seed: int = 7) -> str:
    daemon.start()
    tool = str(write_tool(folder, server_tool()))
    assert daemon.command("import_tool", folder=tool, task="scale")["state"] == "qualified"
    found = daemon.command("compare", task="scale", tools="word-count", agent="mine", trials=trials, seed=seed)
    return str(found["comparison"])


def ended(daemon: RealDaemon, comparison: str) -> dict[str, Any]:
    daemon.until(lambda: daemon.query("comparisons")[0]["over"], "the comparison to end")
    found: dict[str, Any] = daemon.query("comparison", id=comparison)
    return found


def test_a_tool_that_helps_is_found_to_help(daemon: RealDaemon, workspace: Workspace, tmp_path: Path) -> None:
    use = ["call", "word-count", "count", {"word": "x"}]
    agent(workspace, [["with", "word-count", [use, ["write", "kernel.c", kernel(1)]], [["write", "kernel.c", kernel(4)]]]])
    before = (workspace.tasks / "scale" / "kernel.c").read_bytes()
    found = ended(daemon, begin(daemon, tmp_path / "tool", 4))
    print(found)
    assert (found["conclusion"], found["p"]) == ("tools", pytest.approx(2 / 70))
    assert found["times"]["low"] > 1.5 and found["wins"] == 1.0
    assert [one["side"] for one in found["runs"]] == found["order"]
    assert {one["invalid"] for one in found["runs"]} == {""}
    assert [one["calls"] for one in found["runs"]] == [one["side"] == "tools" for one in found["runs"]]
    assert (workspace.tasks / "scale" / "kernel.c").read_bytes() == before
    assert not (workspace.memory / "scale.md").exists()
