"""Runs that share a device, on a real daemon: whoever does not measure there keeps nobody else from it."""

import shutil
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from kpd.client import DaemonError
from kpd.workspace.paths import Workspace
from tests.support.claude.anthropic_script import Reply, Status
from tests.support.claude.model_service import beside
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.e2e.dying import DIE_AT, nothing_twice
from tests.support.e2e.replies import in_turn, reply as answer

__all__ = ["daemon", "workspace"]


JUST_BEGUN_S = 2.0


@pytest.fixture(autouse=True)
def tasks(workspace: Workspace) -> None:
    """Others that run beside `scale`."""
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
    """By the log: when a step that measures has ended, no other one measures, or it waits.

    `judge` takes the device for audits only, so that it may run beside another run's timing. A step that has just begun
    may not have said yet that it waits.
    """
    measuring: dict[str, float] = {}
    waiting: set[str] = set()
    for event in daemon.events():
        run = event["body"].get("run")
        match event["kind"]:
            case "step_started":
                measuring.pop(run, None)
                if event["body"]["use"] == "measures" and event["body"]["step"] != "judge":
                    measuring[run] = event["at"]
            case "run_waits":
                waiting = waiting | {run} if event["body"]["wait"] else waiting - {run}
            case "checked" | "timed" | "judged" | "profiled" if run in measuring:
                since = event["at"] - JUST_BEGUN_S
                assert {who for who, at in measuring.items() if at < since} - waiting <= {run}, event
                del measuring[run]
            case "faulted" | "iteration_ended" | "run_paused":
                measuring.pop(run, None)
            case "run_started":
                waiting -= {run}


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
    for toml in workspace.tasks.glob("*/task.toml"):
        toml.write_text(toml.read_text().replace("quads = 4", "quads = 256"))
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
