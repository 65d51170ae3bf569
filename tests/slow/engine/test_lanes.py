"""On a real daemon: a run that works on two GPUs of one host at once, also after the daemon was killed."""

import os
import stat
from typing import Any

import pytest

from kpd.wire import DaemonError
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace

__all__ = ["daemon", "workspace"]

BENCHMARK = """import json, os, time
time.sleep(0.04)
open("{seen}", "a").write(os.environ["CUDA_VISIBLE_DEVICES"] + " ")
print(json.dumps({{"ok": True, "best_us": float(open("kernel.txt").read())}}))
"""
TASK = """[task]
name = "count"
summary = "a number that is its own time"
language = "python"
editable = ["kernel.txt"]

[need]
gpu = "H100"

[bench]
command = "python3 benchmark.py"
"""
SMI = """#!/bin/sh
case "$1" in
  --query-gpu=index*)
    echo '0, {first}, 00000000:00:06.0, NVIDIA H100, 9.0, 81559, 580.1, Enabled, Disabled'
    echo '1, {second}, 00000000:00:07.0, NVIDIA H100, 9.0, 81559, 580.1, Enabled, Disabled'
    ;;
esac
"""
FIRST, SECOND = "GPU-00000000-0000-0000-0000-000000000000", "GPU-11111111-1111-1111-1111-111111111111"
TIMES = (4.0, 3.0, 1.5)


@pytest.fixture(autouse=True)
def task(workspace: Workspace, daemon: RealDaemon) -> None:
    folder = workspace.tasks / "count"
    folder.mkdir()
    benchmark = BENCHMARK.format(seen=workspace.root.parent / "seen")
    for name, text in {"task.toml": TASK, "benchmark.py": benchmark, "kernel.txt": "9.0\n"}.items():
        (folder / name).write_text(text)
    for number, us in enumerate(TIMES, start=1):
        candidate = workspace.root / "candidates" / str(number)
        candidate.mkdir(parents=True)
        (candidate / "kernel.txt").write_text(f"{us}\n")
    smi = workspace.root.parent / "bin" / "nvidia-smi"
    smi.parent.mkdir()
    smi.write_text(SMI.format(first=FIRST, second=SECOND))
    smi.chmod(smi.stat().st_mode | stat.S_IXUSR)
    daemon.env["PATH"] = f"{smi.parent}:{os.environ['PATH']}"


def under_way(daemon: RealDaemon, run: str = "r1") -> list[dict[str, Any]]:
    bodies = [event["body"] for event in daemon.events("iteration_started", "iteration_ended")]
    mine = [body for body in bodies if body["run"] == run]
    ended = {body["iteration"] for body in mine if "outcome" in body}
    return [one for one in mine if "outcome" not in one and one["iteration"] not in ended]


def test_both_gpus_measure_at_once_and_nothing_is_lost_or_doubled_by_a_kill(
    daemon: RealDaemon, workspace: Workspace
) -> None:
    daemon.start()
    daemon.command("run", task="count", agent="script:candidates", iterations=len(TIMES), devices="all")
    daemon.until(lambda: {0, 1} <= {one["lane"] for one in under_way(daemon)}, "an iteration on each GPU")
    assert {one["parent"] for one in under_way(daemon)} == {0}, "the incumbent of when they began"
    daemon.kill()

    daemon.start()
    left = [one["iteration"] for one in under_way(daemon)]
    assert [one["iteration"] for one in daemon.events("queue_held")[-1]["body"]["hold"]["runs"]] == left
    daemon.command("resume")
    assert daemon.until_event("run_ended", run="r1")["body"]["outcome"] == "improved"
    assert daemon.events("devices_taken")[-1]["body"]["more"] == [SECOND, FIRST, SECOND], "two lanes each"
    assert set((workspace.root.parent / "seen").read_text().split()) == {FIRST, SECOND}

    begun = [event["body"] for event in daemon.events("iteration_started")]
    ended = {event["body"]["iteration"]: event["body"] for event in daemon.events("iteration_ended")}
    assert len(ended) == len(daemon.events("iteration_ended")) == len(begun), "each ends once"
    assert sum(one["agent"] == "script:candidates" for one in begun) == len(TIMES), "no more than the budget"
    superseded = {number for number, body in ended.items() if body["cause"]["kind"] == "superseded"}
    again = {one["again"] for one in begun if one["again"] is not None and not one["confirming"]}
    assert again == superseded, (
        "what won against an older incumbent is measured against the one of now, and nothing else"
    )
    assert [(one["lane"], one["parent"]) for one in begun if one["confirming"] == "floor"] == [(1, 0)]
    assert ended[next(one["iteration"] for one in begun if one["confirming"] == "floor")]["cause"]["kind"] == "noise"
    assert (workspace.tasks / "count" / "kernel.txt").read_text() == "1.5\n"

    daemon.command("run", task="count", agent="mailbox", devices="all")
    daemon.until(lambda: [one["agent"] for one in under_way(daemon, "r2")] == ["mailbox"] * 2, "an iteration on each")
    first, second = (one["iteration"] for one in under_way(daemon, "r2"))
    with pytest.raises(DaemonError, match=rf"r2\.{first} and r2\.{second} are under way"):
        daemon.command("skip", run="r2")
    daemon.command("skip", run=f"r2.{second}")
    assert daemon.until_event("iteration_ended", run="r2", iteration=second)["body"]["outcome"] == "skipped"
    assert first in {one["iteration"] for one in under_way(daemon, "r2")}, "the other goes on"
    daemon.command("stop", run="r2")
