"""`kill -9` at every step, and what the next daemon makes of it."""

from contextlib import suppress

import pytest

from kpd.client import DaemonError
from kpd.model.facts.steps import STEP_OF
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, jobs_of, leftovers, workspace
from tests.support.e2e.dying import DIE_AT, nothing_twice
from tests.support.e2e.told import told_times

__all__ = ["daemon", "told_times", "workspace"]

APPROVAL = {"kind": "for_approval", "run": "r1", "iteration": 1}

STEPS = [(fact.kind(), step) for fact, step in STEP_OF.items() if step != "review"]
MOMENTS = [
    *[(kind, "") for kind in ("run_queued", "run_started", "task_pinned", "folder_known", "iteration_started")],
    *[moment for fact, step in STEPS for moment in (("step_started", step), (fact, ""))],
    *[("step_started", "record"), ("accepted", ""), ("iteration_ended", "")],
]
"""In the order of a run: those of the run and of its baseline, then those of its first candidate."""


def test_a_run_is_killed_at_every_moment(daemon: RealDaemon, workspace: Workspace) -> None:
    for number, (kind, step) in enumerate(MOMENTS):
        moment = f"{kind} {step}"
        daemon.start(DIE_AT, kind, step)
        assert number == 0 or "goes on" in daemon.query("status")["held"], f"{moment}: the queue waits"
        with suppress(DaemonError):  # it may die before it has answered
            if number:
                daemon.command("resume")
            else:
                daemon.command("run", task="scale", iterations=1)
        assert daemon.wait() == -9, moment
    daemon.start()
    daemon.command("resume")
    assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
    daemon.until(lambda: not jobs_of(workspace), "no job to be left running")
    nothing_twice(daemon)
    assert "#define REPEAT 1" in (workspace.tasks / "scale" / "kernel.c").read_text()
    assert not daemon.events("operator_edited")
    memory = (workspace.memory / "scale.md").read_text()
    assert memory.count("REPEAT 8 → 1") == 1


@pytest.mark.usefixtures("told_times")
@pytest.mark.parametrize("kind", ["step_started", "review_asked", "approved", "reviewed"])
def test_killed_while_a_person_is_asked(daemon: RealDaemon, workspace: Workspace, kind: str) -> None:
    daemon.start(DIE_AT, kind, "review")
    with suppress(DaemonError):
        daemon.command("run", task="scale", iterations=1, approve=True)
        daemon.until_event("review_asked")
        daemon.command("approve")
    assert daemon.wait() == -9

    daemon.start()
    daemon.command("resume")
    if kind in ("step_started", "review_asked"):
        daemon.until(lambda: daemon.query("status")["runs"]["r1"]["waiting"] == APPROVAL, "the question")
        daemon.command("approve")
    assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
    nothing_twice(daemon)
    assert len(daemon.events("review_asked")) == len(daemon.events("reviewed")) == 1


@pytest.mark.usefixtures("told_times")
def test_what_is_past_its_review_is_not_asked_for_after_a_restart(daemon: RealDaemon) -> None:
    """Also the log of an older daemon, which has no fact of a review."""
    daemon.start(DIE_AT, "step_started", "build")
    daemon.command("run", task="scale", iterations=1)
    assert daemon.wait() == -9
    daemon.start()
    daemon.command("review", on=True)
    daemon.command("resume")
    assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
    nothing_twice(daemon)
    assert not daemon.events("review_asked", "reviewed")


@pytest.mark.usefixtures("told_times")
def test_killed_while_a_job_runs_then_stopped_by_the_operator(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start(DIE_AT, "step_started", "time")
    daemon.command("run", task="scale", iterations=1)
    assert daemon.wait() == -9
    daemon.start()
    daemon.command("stop")
    assert [event["body"]["outcome"] for event in daemon.events("run_ended")] == ["stopped"]
    assert daemon.query("show", iteration="r1.1")["iteration"]["outcome"] == "interrupted"


def test_a_shutdown_kills_the_step_and_the_next_daemon_waits(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    daemon.command("run", task="scale")
    daemon.until_event("step_started", step="time")
    daemon.command("shutdown", now=True)
    assert daemon.wait() == 0
    assert not leftovers(workspace)
    daemon.start()
    assert "shut down" in daemon.query("status")["held"]
    daemon.command("resume")
    daemon.until_event("run_ended")
    nothing_twice(daemon)
