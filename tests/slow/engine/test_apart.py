"""On a real daemon: a run that works apart from the task folder, beside the one that the folder shows."""

from typing import Any

import pytest

from kpd.client import DaemonError
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace

__all__ = ["daemon", "workspace"]

BENCHMARK = """import json
print(json.dumps({"ok": True, "best_us": float(open("kernel.txt").read())}))
"""
TASK = """[task]
name = "count"
summary = "a number that is its own time"
language = "python"
editable = ["kernel.txt"]

[bench]
command = "python3 benchmark.py"
"""


@pytest.fixture(autouse=True)
def task(workspace: Workspace) -> None:
    folder = workspace.tasks / "count"
    folder.mkdir()
    for name, text in {"task.toml": TASK, "benchmark.py": BENCHMARK, "kernel.txt": "9.0\n"}.items():
        (folder / name).write_text(text)
    candidate = workspace.root / "candidates" / "1"
    candidate.mkdir(parents=True)
    (candidate / "kernel.txt").write_text("6.0\n")


def kernel(workspace: Workspace) -> str:
    return (workspace.tasks / "count" / "kernel.txt").read_text()


def refused(daemon: RealDaemon, op: str, **args: Any) -> str:
    with pytest.raises(DaemonError) as err:
        daemon.command(op, **args)
    return f"{err.value.message}; {err.value.remedy}"


def test_it_ends_beside_the_run_that_the_folder_shows_and_a_person_takes_its_result(
    daemon: RealDaemon, workspace: Workspace
) -> None:
    daemon.start()
    daemon.command("run", task="count", agent="operator")
    daemon.until_event("iteration_ended", run="r1")

    daemon.command("run", task="count", agent="script:candidates", iterations=1, apart=True)
    assert daemon.until_event("run_ended", run="r2")["body"]["outcome"] == "improved"
    assert kernel(workspace) == "9.0\n"
    assert "r2 works apart from the task folder" in refused(daemon, "edit", run="r2", files={"kernel.txt": "5.0\n"})
    assert "r1 works on count now" in refused(daemon, "adopt", iteration="r2.1")
    daemon.command("rollback", iteration="r2.0")  # its own incumbent, which the folder does not show
    assert kernel(workspace) == "9.0\n"
    daemon.command("stop", run="r1")
    daemon.until_event("run_ended", run="r1")

    (workspace.tasks / "count" / "kernel.txt").write_text("8.0\n")
    assert "kpd adopt r2.1 --force keeps a copy" in refused(daemon, "adopt", iteration="r2.1")
    daemon.command("adopt", iteration="r2.1", force=True)
    assert kernel(workspace) == "6.0\n"
    kept = [path.read_text() for path in workspace.run_folder("count", "r2").glob("edits/*/kernel.txt")]
    assert kept == ["8.0\n"]
    daemon.command("adopt", iteration="r2.0")  # what kpd itself has written is not refused
    assert kernel(workspace) == "9.0\n"
