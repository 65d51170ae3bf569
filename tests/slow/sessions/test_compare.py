"""A comparison of a built tool with none, in whole runs of a scripted coding agent by a real daemon that is killed."""

from pathlib import Path

import pytest

from kpd.wire import DaemonError
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.e2e.told import last, told_times
from tests.support.sessions.scripted import agent, kernel
from tests.support.tools.built import server_tool, write_tool

__all__ = ["daemon", "told_times", "workspace"]
SEED = 1
"""Draws an order that begins with one run of each side."""
USE = ["call", "word-count", "count", {"word": "x"}]


@pytest.mark.usefixtures("told_times")
def test_a_comparison_goes_on_after_a_kill_and_leaves_nothing_behind(
    daemon: RealDaemon, workspace: Workspace, tmp_path: Path
) -> None:
    """Five runs a side take minutes: benchmarks/compare_tools.py."""
    fast, slow = ([["write", "kernel.c", kernel(repeat)]] for repeat in (1, 3))
    agent(workspace, [["with", "word-count", [USE, *fast], slow]])
    last(workspace, 0.2)
    own = (workspace.tasks / "scale" / "kernel.c").read_bytes()
    daemon.start()
    daemon.command("import_tool", folder=str(write_tool(tmp_path / "tool", server_tool())), task="scale")
    daemon.command("compare", task="scale", tools="word-count", agent="mine", trials=2, seed=SEED)
    daemon.until_event("step_started", run="r1", step="time")
    (workspace.tasks / "scale" / "kernel.c").write_bytes(own + b"/* an edit */\n")
    with pytest.raises(DaemonError, match="nobody interferes with trial 1 of c1"):
        daemon.command("steer", run="r1", text="use one loop")
    daemon.kill()
    daemon.start()
    daemon.command("resume")
    daemon.until_event("run_ended", run="r1")
    daemon.kill()
    daemon.start()
    daemon.command("resume")
    daemon.until_event("run_ended", run="r2")
    daemon.command("stop_comparison", comparison="c1")
    daemon.until(lambda: daemon.query("comparisons")[0]["over"], "the end of its last run")
    found = daemon.query("comparison", id="c1")
    assert next(event["kind"] for event in daemon.events("comparison_queued", "run_queued")) == "comparison_queued"
    assert [one["side"] for one in found["runs"]] == found["order"][: len(found["runs"])]
    used = {one["side"]: (one["calls"], one["used"], one["invalid"]) for one in found["runs"][:2]}
    assert used == {"plain": (0, False, ""), "tools": (1, True, "")}
    assert found["tools"]["median"] > found["plain"]["median"] > 1
    assert (found["conclusion"], found["p"]) == ("stopped", None)
    found["runs"] = found["runs"][:2]
    given = {event["body"]["run"]: len(event["body"]["tools"]) for event in daemon.events("tools_given")}
    assert given.items() >= {one["run"]: 1 for one in found["runs"] if one["side"] == "tools"}.items()
    started = [event["body"]["editable"] for event in daemon.events("task_pinned")]
    assert started[0] == started[1], "the edit in the task's folder belongs to neither"
    assert (workspace.tasks / "scale" / "kernel.c").read_bytes() == own + b"/* an edit */\n"
    assert not (workspace.memory / "scale.md").exists()
