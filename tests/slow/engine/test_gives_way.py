"""On a real daemon: a best that does not hold against the baseline at the end of its run gives way."""

import asyncio
from typing import Any

import pytest

from kpd.cli.waiting import wait_for
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace

__all__ = ["daemon", "workspace"]

# The second candidate profits from something that is gone later: the folder of an iteration says how late it is.
BENCHMARK = """import json, pathlib
us = float(open("kernel.txt").read())
late = pathlib.Path({late!r}).exists()
print(json.dumps({{"ok": True, "best_us": 9.5 if us == 3.0 and late else us}}))
"""
TASK = """[task]
name = "lucky"
summary = "a number that is its own time"
language = "python"
editable = ["kernel.txt"]

[bench]
command = "python3 benchmark.py"
"""


def lucky(workspace: Workspace, *candidates: str) -> None:
    """A task whose kernel 3.0 is slower than the baseline from the first contest against the baseline on."""
    folder = workspace.tasks / "lucky"
    folder.mkdir()
    late = workspace.run_folder("lucky", "r1") / f"iter_{len(candidates) + 1:04d}"
    files = {"task.toml": TASK, "benchmark.py": BENCHMARK.format(late=str(late)), "kernel.txt": "9.0\n"}
    for name, text in files.items():
        (folder / name).write_text(text)
    for number, us in enumerate(candidates, 1):
        candidate = workspace.root / "candidates" / str(number)
        candidate.mkdir(parents=True)
        (candidate / "kernel.txt").write_text(f"{us}\n")


def of_run(daemon: RealDaemon) -> Any:
    return daemon.query("status")["runs"]["r1"]


def test_a_best_that_does_not_hold_gives_way_to_the_one_before_it(
    daemon: RealDaemon, workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    lucky(workspace, "6.0", "3.0")
    daemon.start()
    daemon.command("run", task="lucky", agent="script:candidates", iterations=2)
    assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
    gave_way = daemon.until_event("gave_way")["body"]
    assert (gave_way["iteration"], gave_way["unheld"]) == (1, 2)
    headline = of_run(daemon)["headline"]
    assert (headline["of"], headline["how"]) == (1, "measured")
    assert headline["speedup"]["ratio"] == pytest.approx(1.5)
    assert (workspace.tasks / "lucky" / "kernel.txt").read_text() == "6.0\n"
    assert asyncio.run(wait_for(workspace, "r1")) == 0
    told = capsys.readouterr().err
    assert "r1.2 is no faster than the baseline, measured once more: r1.1 is the incumbent" in told


def test_where_none_holds_the_baseline_is_the_incumbent(daemon: RealDaemon, workspace: Workspace) -> None:
    lucky(workspace, "3.0")
    daemon.start()
    daemon.command("run", task="lucky", agent="script:candidates", iterations=1)
    assert daemon.until_event("run_ended")["body"]["outcome"] == "no_gain"
    assert of_run(daemon)["best"]["number"] == 0
    assert (workspace.tasks / "lucky" / "kernel.txt").read_text() == "9.0\n"
