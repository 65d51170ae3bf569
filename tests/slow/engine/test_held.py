"""Winners with flags, on a real daemon: held, accepted at once or measured again, declined."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kpd.client import DaemonError
from kpd.workspace.paths import Workspace
from tests.support.daemon.forked import run_kpd
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.e2e.kernels import kernel

__all__ = ["daemon", "workspace"]

CLOCK = "#include <time.h>\n"
READS = "if (n < 0) { struct timespec at; clock_gettime(CLOCK_MONOTONIC, &at); y[0] = at.tv_nsec; }\n    for (int r"


def kpd(workspace: Workspace, *args: str, code: int = 0) -> "subprocess.CompletedProcess[str]":
    done = run_kpd(args[0], "-w", str(workspace.root), *args[1:], env={**os.environ, "KPD_OPERATOR": "ada"})
    assert done.returncode == code, done.stderr
    return done


def source(workspace: Workspace, repeat: int, flagged: bool) -> str:
    text = kernel(workspace).read_text().replace("REPEAT 8", f"REPEAT {repeat}")
    return CLOCK + text.replace("for (int r", READS) if flagged else text


def reply(daemon: RealDaemon, workspace: Workspace, number: int, repeat: int, flagged: bool) -> None:
    home = workspace.iteration_folder("scale", "r1", number)
    daemon.until((home / "prompt.md").exists, f"the prompt of iteration {number}")
    (home / "reply.md").write_text(f"MEMO: REPEAT {repeat}\n\n```c kernel.c\n{source(workspace, repeat, flagged)}```\n")


def ended(daemon: RealDaemon, number: int) -> Any:
    return daemon.until_event("iteration_ended", iteration=number)["body"]


def scripted(workspace: Workspace, *candidates: tuple[int, bool]) -> str:
    for nth, (repeat, flagged) in enumerate(candidates):
        folder = workspace.root / "prepared" / f"{nth}"
        folder.mkdir(parents=True)
        (folder / "kernel.c").write_text(source(workspace, repeat, flagged))
    return "script:prepared"


def test_a_held_winner_is_measured_again_once_the_incumbent_has_changed(
    daemon: RealDaemon, workspace: Workspace
) -> None:
    daemon.start()
    daemon.command("run", task="scale", agent="mailbox", iterations=4)
    reply(daemon, workspace, 1, 1, flagged=True)
    held = ended(daemon, 1)
    assert (held["outcome"], held["cause"]["kind"]) == ("held", "flagged")
    assert held["cause"]["flags"] == [{"kind": "calls", "symbol": "clock_gettime"}]
    assert not (workspace.memory / "scale.md").exists(), "nothing is learned from it"
    run = daemon.query("status")["runs"]["r1"]
    assert (run["incumbent"], [it["number"] for it in run["held"]], run["status"]) == (0, [1], "running")
    reply(daemon, workspace, 2, 4, flagged=False)
    assert ended(daemon, 2)["outcome"] == "accepted", "the run went on, against the baseline"
    daemon.until((workspace.iteration_folder("scale", "r1", 3) / "prompt.md").exists, "the prompt of iteration 3")
    assert "clock_gettime" in (workspace.iteration_folder("scale", "r1", 3) / "prompt.md").read_text()
    assert daemon.command("accept", iteration="r1.1")["again"] is True
    daemon.command("skip")
    again = ended(daemon, 4)
    assert (again["outcome"], daemon.query("status")["runs"]["r1"]["incumbent"]) == ("accepted", 4)
    assert daemon.query("status")["runs"]["r1"]["held"] == []
    daemon.command("stop")


def test_a_run_with_held_winners_only_ends_without_a_gain(daemon: RealDaemon, workspace: Workspace) -> None:
    toml = Path(workspace.tasks / "scale" / "task.toml")
    toml.write_text(toml.read_text().replace("patience = 2", "patience = 9"))
    daemon.start()
    agent = scripted(workspace, (4, True), (2, True), (1, True))
    done = kpd(workspace, "run", "scale", "--agent", agent, "--iterations", "3", "--wait", code=2)
    assert "r1.1, r1.2, r1.3 won, but flagged: kpd held r1" in done.stderr
    listed = kpd(workspace, "held").stdout
    assert "calls clock_gettime, which no kernel needs" in listed
    assert "kpd accept r1.2 or kpd decline r1.2" in listed
    assert "r1.1 is declined" in kpd(workspace, "decline", "r1.1", "--reason", "slower than the other").stderr
    assert "r1.1" not in kpd(workspace, "held", "r1").stdout
    with pytest.raises(DaemonError, match=r"r1\.1 does not wait"):
        daemon.command("decline", iteration="r1.1")
    assert "r1.2 is the incumbent, marked as accepted by hand" in kpd(workspace, "accept", "r1.2").stderr
    assert daemon.query("status")["runs"]["r1"]["incumbent"] == 2
    assert "accepted by hand" in (workspace.memory / "scale.md").read_text()
    assert "REPEAT 2" in kernel(workspace).read_text(), "its files are in the task folder"
    assert kpd(workspace, "accept", "r1.3").stderr, "against the incumbent of now, though the run has ended"
    again = ended(daemon, 4)
    assert (again["outcome"], daemon.query("status")["runs"]["r1"]["incumbent"]) == ("accepted", 4)
    daemon.until(lambda: len(daemon.events("run_ended")) == 2, "the run to end again")
    assert "REPEAT 1" in kernel(workspace).read_text()
    assert "nothing waits for a person" in kpd(workspace, "held").stderr
    assert kpd(workspace, "held", "--json").stdout == "[]\n"


@pytest.mark.parametrize(("flagged", "outcome"), [("reject", "rejected"), ("note", "accepted")])
def test_a_task_says_what_becomes_of_flags(
    daemon: RealDaemon, workspace: Workspace, flagged: str, outcome: str
) -> None:
    toml = Path(workspace.tasks / "scale" / "task.toml")
    toml.write_text(toml.read_text().replace("[check]", f'[check]\nflagged = "{flagged}"'))
    agent = scripted(workspace, (1, True))
    daemon.start()
    daemon.command("run", task="scale", agent=agent, iterations=1)
    assert ended(daemon, 1)["outcome"] == outcome
    found = daemon.query("show", iteration="r1.1")["iteration"]
    assert [flag["text"] for flag in found["flags"]] == ["calls clock_gettime, which no kernel needs"]
    assert found["sign"]["word"] == {"rejected": "flagged", "accepted": "accepted"}[outcome]
