"""A candidate that wins and then fails on what its task holds out: rejected, and nobody can accept it by hand."""

import pytest

from kpd.client import DaemonError
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace

__all__ = ["daemon", "workspace"]

BENCHMARK = """import json, sys
us = float(open("kernel.txt").read())
if sys.argv[1:] == ["--final"] and us < 5:
    sys.exit("row 7 is wrong")
print(json.dumps({"ok": True, "best_us": us}))
"""
TASK = """[task]
name = "held"
summary = "a number that is its own time"
language = "python"
editable = ["kernel.txt"]

[bench]
command = "python3 benchmark.py"

[final]
command = "python3 benchmark.py --final"
"""


def test_what_fails_on_held_out_cases_stays_rejected(daemon: RealDaemon, workspace: Workspace) -> None:
    folder = workspace.tasks / "held"
    folder.mkdir()
    for name, text in (("task.toml", TASK), ("benchmark.py", BENCHMARK), ("kernel.txt", "9.0\n")):
        (folder / name).write_text(text)
    candidate = workspace.root / "candidates" / "1"
    candidate.mkdir(parents=True)
    (candidate / "kernel.txt").write_text("3.0\n")
    daemon.start()
    daemon.command("run", task="held", agent="script:candidates", iterations=1)
    assert daemon.until_event("run_ended")["body"]["outcome"] == "no_gain"
    (ended,) = [one["body"] for one in daemon.events("iteration_ended") if one["body"]["iteration"] == 1]
    assert ended["outcome"] == "rejected"
    assert "incorrect on the held-out cases" in ended["reason"]
    assert "row 7 is wrong" in ended["reason"]
    with pytest.raises(DaemonError, match="no verdict: incorrect on the held-out cases"):
        daemon.command("accept", iteration="r1.1")
    assert daemon.query("show", iteration="r1.1")["run"]["incumbent"] == 0
