"""The review gate, on a real daemon: candidates wait for a person, through whatever happens meanwhile."""

from pathlib import Path
from typing import Any

import pytest

from kpd.client import DaemonError
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.e2e.kernels import kernel, save
from tests.support.e2e.told import told_times

__all__ = ["daemon", "told_times", "workspace"]

pytestmark = pytest.mark.usefixtures("told_times")


def iteration(daemon: RealDaemon, number: int) -> Any:
    return daemon.query("show", iteration=f"r1.{number}")["iteration"]


def run_now(daemon: RealDaemon) -> Any:
    return daemon.query("status")["runs"]["r1"]


def until_told(daemon: RealDaemon, number: int) -> None:
    daemon.until(lambda: f"kpd approve r1.{number}" in run_now(daemon)["waits"], "the run to say what it waits for")


def seq(daemon: RealDaemon, kind: str, number: int) -> int:
    return int(daemon.until_event(kind, iteration=number)["seq"])


def reply(workspace: Workspace, number: int, repeat: str) -> None:
    text = kernel(workspace).read_text().replace("REPEAT 8", f"REPEAT {repeat}")
    home = workspace.iteration_folder("scale", "r1", number)
    (home / "reply.md").write_text(f"MEMO: REPEAT {repeat}\n\n```c kernel.c\n{text}```\n")


def prompt(daemon: RealDaemon, workspace: Workspace, number: int, words: str = "") -> str:
    path = workspace.iteration_folder("scale", "r1", number) / "prompt.md"
    daemon.until(lambda: path.exists() and words in path.read_text(), f"the prompt of iteration {number}: {words}")
    return path.read_text()


def test_a_candidate_waits_through_a_pause_and_a_kill(daemon: RealDaemon, workspace: Workspace, tmp_path: Path) -> None:
    told = tmp_path / "told.txt"
    notify = f"""[notify]\ncommand = ["sh", "-c", 'echo "$KPD_TEXT" >> {told}']\n"""
    workspace.config.write_text(f"[run]\napprove = true\n{notify}")
    daemon.start()
    daemon.command("run", task="scale", iterations=1)
    asked = seq(daemon, "review_asked", 1)
    until_told(daemon, 1)
    daemon.until(lambda: told.exists() and "r1.1 needs your approval" in told.read_text(), "the alert")
    daemon.command("pause")
    until_told(daemon, 1)
    assert run_now(daemon)["status"] == "paused"
    daemon.command("resume")
    until_told(daemon, 1)
    daemon.kill()
    daemon.start()
    assert daemon.query("status")["held"]
    daemon.command("resume")
    with pytest.raises(DaemonError, match=r"r1\.0 does not wait"):
        daemon.command("approve", iteration="r1.0")
    assert iteration(daemon, 1)["review"] == "waits"
    assert not [event for event in daemon.events("staged") if event["seq"] > asked]
    assert daemon.command("approve") == {"run": "r1", "iteration": 1}
    assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
    assert seq(daemon, "staged", 1) > seq(daemon, "approved", 1)
    assert len(daemon.events("review_asked")) == 1, "the baseline waits for nobody, nothing is asked twice"
    assert daemon.events("run_waits")[-1]["body"]["reason"] == ""
    with pytest.raises(DaemonError, match="no candidate waits"):
        daemon.command("approve")


def test_what_was_declined_ends_there_and_the_next_prompt_says_why(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    daemon.command("run", task="scale", agent="mailbox", iterations=2, approve=True)
    prompt(daemon, workspace, 1)
    reply(workspace, 1, "nonsense")
    daemon.until_event("review_asked", iteration=1)
    daemon.command("approve", iteration="r1.1")
    prompt(daemon, workspace, 1, "nonsense")
    reply(workspace, 1, "1")
    daemon.until(lambda: len(daemon.events("review_asked")) == 2, "the mended candidate to wait, too")
    daemon.command("decline", reason="a loop that runs once is no loop")
    ended = daemon.until_event("iteration_ended", iteration=1)["body"]
    assert ended["outcome"] == "rejected"
    assert ended["reason"].startswith("declined by cli")
    assert ended["reason"].endswith(": a loop that runs once is no loop")
    assert iteration(daemon, 1)["review"] == "declined"
    assert "a loop that runs once is no loop" in prompt(daemon, workspace, 2)
    assert "a loop that runs once is no loop" in (workspace.memory / "scale.md").read_text()
    assert len(daemon.events("faulted")) == 1, "what a person declines is not for the agent to mend"
    daemon.command("stop")


def test_declined_while_the_queue_is_held_after_a_crash(daemon: RealDaemon) -> None:
    daemon.start()
    daemon.command("run", task="scale", iterations=1, approve=True)
    until_told(daemon, 1)
    daemon.kill()
    daemon.start()
    daemon.command("decline")
    assert run_now(daemon)["waiting"] is None
    daemon.kill()
    daemon.start()
    daemon.command("resume")
    assert daemon.until_event("iteration_ended", iteration=1)["body"]["reason"].startswith("declined by cli")
    assert daemon.until_event("run_ended")["body"]["outcome"] == "no_gain"


def test_the_gate_is_switched_while_the_run_goes_on(daemon: RealDaemon, workspace: Workspace) -> None:
    toml = workspace.tasks / "scale" / "task.toml"
    toml.write_text(toml.read_text().replace("[8, 1]", "[8, 7, 6, 5, 4, 3, 2, 1]"))
    daemon.start()
    daemon.command("run", task="scale", iterations=9, patience=9)
    assert daemon.command("review", on=True) == {"run": "r1", "on": True}
    until_told(daemon, 1)
    daemon.command("review", on=False)
    ended = seq(daemon, "iteration_ended", 1)
    assert iteration(daemon, 1)["review"] == "approved"
    daemon.command("review", on=True)
    waits = daemon.until(
        lambda: [event for event in daemon.events("review_asked") if event["seq"] > ended], "the next one to wait"
    )
    number = waits[0]["body"]["iteration"]
    daemon.command("skip")
    daemon.until_event("iteration_ended", iteration=number, outcome="skipped")
    until_told(daemon, number + 1)
    save(kernel(workspace), kernel(workspace).read_text() + "/* mine */\n")
    daemon.until_event("operator_edited")
    daemon.command("decline", iteration=str(number + 1))
    daemon.until_event("iteration_ended", iteration=number + 2)
    assert iteration(daemon, number + 2)["agent"] == "operator"
    assert iteration(daemon, number + 2)["review"] == "", "an operator's own edit waits for nobody"
    until_told(daemon, number + 3)
    daemon.command("stop")
    assert daemon.until_event("run_ended")["body"]["outcome"] == "stopped"
    with pytest.raises(DaemonError, match="r1 has ended"):
        daemon.command("review", on=True)
