"""Runs that share a device, on a real daemon: whoever does not measure there keeps nobody else from it."""

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest

from kpd.client import DaemonError
from kpd.workspace.paths import Workspace
from tests.support.claude.anthropic_script import Reply, Status
from tests.support.claude.model_service import beside
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.e2e.dying import DIE_AT, nothing_twice
from tests.support.e2e.replies import in_turn, reply as answer
from tests.support.e2e.told import last, told_times

__all__ = ["daemon", "told_times", "workspace"]


CLOCK_S = 0.05
"""Between a process' end and the time of a file."""


@pytest.fixture(autouse=True)
def tasks(workspace: Workspace, told_times: None) -> None:
    """Others that run beside `scale`; their kernels say how long they take."""
    for name in ("other", "third"):
        copied = workspace.tasks / name
        shutil.copytree(workspace.tasks / "scale", copied)
        toml = copied / "task.toml"
        toml.write_text(toml.read_text().replace('"scale"', f'"{name}"'))


def run_now(daemon: RealDaemon, run: str = "r1") -> Any:
    return daemon.query("status")["runs"][run]


def seq(daemon: RealDaemon, kind: str, **fields: Any) -> int:
    return int(daemon.until_event(kind, **fields)["seq"])


def the_next_one_goes_on(daemon: RealDaemon, number: int = 2, task: str = "other") -> None:
    """Queue a run that begins, measures and ends while r1 stays as it is."""
    before = run_now(daemon)
    daemon.command("run", task=task, iterations=1)
    assert daemon.until_event("run_ended", run=f"r{number}")["body"]["outcome"] == "improved"
    after = run_now(daemon)
    assert (after["status"], after["count"]) == (before["status"], before["count"])


def its_verdict_holds(daemon: RealDaemon, outcome: str = "improved") -> None:
    assert daemon.until_event("run_ended", run="r1")["body"]["outcome"] == outcome
    verdict = daemon.query("show", iteration="r1.1")["iteration"]["verdict"]
    assert verdict["accepted"] and verdict["gain"]["pct"] > 50
    nothing_twice(daemon)
    one_at_a_time(daemon)


def one_at_a_time(daemon: RealDaemon) -> None:
    """By what the host keeps of the runs' jobs: of those that had the device's lease no two ran at once.

    The log cannot tell: a step is said to begin before it has prepared what asks for the device.
    """
    ran = []
    for lease in daemon.workspace.host_root.glob("jobs/r*/lease"):
        if (rc := lease.with_name("rc")).exists() and (said := rc.read_text().rstrip("\0 ")):
            began = lease.with_name("pgid").stat().st_mtime  # written last when its process starts
            ran.append((began, began + json.loads(said)["seconds"], lease.parent.name))
    assert len({name.partition(".")[0] for _, _, name in ran}) > 1, "several runs have measured"
    for (_, ended, one), (began, _, other) in pairwise(sorted(ran)):
        assert ended < began + CLOCK_S, (one, other)


def test_a_run_that_a_wrong_key_has_paused(daemon: RealDaemon, workspace: Workspace) -> None:
    script = in_turn(Status(401, "authentication_error", "invalid x-api-key"), Reply(answer(1)))
    with beside(workspace, script):
        daemon.start()
        daemon.command("run", task="scale", agent="claude", iterations=1)
        daemon.until_event("run_paused")
        the_next_one_goes_on(daemon)
        assert run_now(daemon)["infra"]
        daemon.command("resume", run="r1")
        its_verdict_holds(daemon)


def test_a_run_at_the_review_gate(daemon: RealDaemon) -> None:
    daemon.start()
    daemon.command("run", task="scale", iterations=1, approve=True)
    daemon.until_event("review_asked")
    the_next_one_goes_on(daemon)
    assert run_now(daemon)["waiting"] == {"kind": "for_approval", "run": "r1", "iteration": 1}
    daemon.command("approve")
    its_verdict_holds(daemon)


def test_a_run_whose_agent_thinks(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    daemon.command("run", task="scale", agent="mailbox", iterations=1)
    home = workspace.iteration_folder("scale", "r1", 1)
    daemon.until((home / "prompt.md").exists, "the prompt")
    the_next_one_goes_on(daemon)
    the_next_one_goes_on(daemon, 3, "third")
    (home / "reply.md").write_text(answer(1))
    its_verdict_holds(daemon)


def test_a_run_that_a_person_has_paused_keeps_its_device_until_its_step_is_done(daemon: RealDaemon) -> None:
    daemon.start()
    daemon.command("run", task="scale", iterations=1)
    daemon.until_event("step_started", iteration=0, step="time")
    daemon.command("pause")
    the_next_one_goes_on(daemon)
    assert seq(daemon, "run_started", run="r2") > seq(daemon, "timed", run="r1", iteration=0)
    daemon.command("resume")
    its_verdict_holds(daemon)


def test_sweeps_that_never_think_for_long_come_one_after_the_other(daemon: RealDaemon) -> None:
    daemon.start()
    for task in ("scale", "other", "third"):
        daemon.command("run", task=task, iterations=1)
    for number in (1, 2):
        daemon.until_event("run_ended", run=f"r{number + 1}")
        assert seq(daemon, "run_ended", run=f"r{number}") < seq(daemon, "run_started", run=f"r{number + 1}")
    assert not [event for event in daemon.events("run_waits") if event["body"]["reason"].startswith("local: r")]


def both_think(daemon: RealDaemon, workspace: Workspace) -> Callable[[str], None]:
    """Two runs on one device whose agents think; what is returned answers the run that it is given."""
    homes = {}
    for run, task in (("r1", "scale"), ("r2", "other")):
        daemon.command("run", task=task, agent="mailbox", iterations=1)
        homes[run] = workspace.iteration_folder(task, run, 1)
        daemon.until((homes[run] / "prompt.md").exists, f"the prompt of {run}")

    def answered(run: str) -> None:
        (homes[run] / "next").write_text(answer(1))
        (homes[run] / "next").rename(homes[run] / "reply.md")

    return answered


def one_waits(daemon: RealDaemon, workspace: Workspace) -> None:
    """Two runs on one device: while r1 is timed, which takes some seconds, r2 waits for its turn."""
    last(workspace, 0.5)
    daemon.start()
    answered = both_think(daemon, workspace)
    answered("r1")
    daemon.until_event("step_started", run="r1", iteration=1, step="time")
    answered("r2")
    daemon.until(lambda: run_now(daemon, "r2")["waits"] == "local: r1 measures on it", "r2 to wait for its turn")


@pytest.mark.parametrize("act", ["skip", "stop", "pause"])
def test_who_waits_for_its_turn_can_be_reached(daemon: RealDaemon, workspace: Workspace, act: str) -> None:
    one_waits(daemon, workspace)
    daemon.command(act, run="r2")
    if act == "stop":
        daemon.until_event("run_ended", run="r2", outcome="stopped")
    if act == "skip":
        daemon.until_event("iteration_ended", run="r2", iteration=1, outcome="skipped")
        daemon.command("stop", run="r2")
    its_verdict_holds(daemon)
    if act == "pause":
        assert run_now(daemon, "r2")["status"] == "paused"
        daemon.command("resume", run="r2")
        assert daemon.until_event("run_ended", run="r2")["body"]["outcome"] == "improved"
        one_at_a_time(daemon)


@pytest.mark.parametrize("how", ["killed", "rested"])
def test_two_that_share_a_device_go_on_after_a_restart(daemon: RealDaemon, workspace: Workspace, how: str) -> None:
    if how == "killed":
        daemon.start(DIE_AT, "step_started", "time")
    else:
        daemon.start()
    answered = both_think(daemon, workspace)
    with suppress(DaemonError):  # it may die before it has answered
        answered("r1")
        answered("r2")
        if how == "rested":
            daemon.until_event("step_started", iteration=1, step="time")
            daemon.command("shutdown")
    assert daemon.wait() == (-9 if how == "killed" else 0)
    daemon.start()
    if how == "killed":
        held = daemon.query("status")["held"]  # whichever came first died at its timing; the other was further behind
        assert "r1.1" in held and "r2.1" in held
        daemon.command("resume")
    else:
        assert not daemon.query("status")["held"], "no step was cut: the one that waited had not begun to measure"
    for run in ("r1", "r2"):  # what a verdict says is the machine's: a busy one refuses a gain now and then
        assert daemon.until_event("run_ended", run=run)["body"]["outcome"] in ("improved", "no_gain")
        assert daemon.query("show", iteration=f"{run}.1")["iteration"]["verdict"]["gain"]["pct"] > 50
    nothing_twice(daemon)
    one_at_a_time(daemon)
