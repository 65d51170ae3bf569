"""What an operator changes while a run goes on: its budget, its agents, its rules, its place in the queue."""

import pytest

from kpd.cli.main import main
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.e2e.told import told_times

__all__ = ["daemon", "told_times", "workspace"]


# ── all the way ───────────────────────────────────────────────────────────────────────────────────────────────────


NAMES_ITS_MODEL = """
import asyncio, sys
from pathlib import Path
from kpd.agents import catalogue
from kpd.agents.agent import AgentKind, Exhausted
from kpd.daemon.process import serve
from kpd.workspace.paths import Workspace

root = Path(sys.argv[1])

class Named:
    repairs = reads_steering = False

    def __init__(self, model):
        self.model = model

    async def propose(self, context):
        context.keep("model.txt", self.model)
        (root / f"asked_{context.number}").touch()
        while not (root / f"answer_{context.number}").exists():
            await asyncio.sleep(0.02)
        raise Exhausted("it only says who it is")

    async def close(self):
        (root / f"closed_{self.model}").touch()

catalogue.UNNAMED["claude"] = AgentKind(lambda config, of: Named(config.claude.model), models=True)
asyncio.run(serve(Workspace(root)))
"""


def test_a_change_holds_from_the_next_iteration_on(
    daemon: RealDaemon, workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    def kpd(*words: str) -> str:
        assert main(["-w", str(workspace.root), *words]) == 0
        said = capsys.readouterr()
        return said.out + said.err

    daemon.start(NAMES_ITS_MODEL)
    daemon.command("run", task="scale", agent="claude,mailbox", iterations=8, patience=8)
    folder = workspace.iteration_folder("scale", "r1", 1)
    daemon.until((workspace.root / "asked_1").exists, "the first question")
    assert "r1: the model claude-haiku-5-5 from the next iteration on" in kpd(
        "agent", "r1", "--model", "claude-haiku-5-5"
    )
    assert kpd("agent") == "r1: claude,mailbox with claude-haiku-5-5\n"
    assert "not_vectorised is banned in r1" in kpd("rules", "ban", "not_vectorised")
    assert "far_below_bandwidth is pinned in r1" in kpd("rules", "pin", "far_below_bandwidth", "--run", "r1")
    assert "division_in_loop is pinned" in kpd("rules", "pin", "division_in_loop")
    assert "not_vectorised (" in kpd("rules") and "· banned" in kpd("rules")
    assert not (workspace.root / "closed_claude-sonnet-5-5").exists(), "an iteration is its agent's until its end"
    (workspace.root / "answer_1").touch()

    prompt = workspace.iteration_folder("scale", "r1", 2) / "prompt.md"
    daemon.until(prompt.exists, "the prompt of the other agent")
    assert (folder / "model.txt").read_text() == "claude-sonnet-5-5"
    assert (workspace.root / "closed_claude-sonnet-5-5").exists(), "the next one is made anew"
    fired = [found["rule"] for found in daemon.query("show", iteration="r1.0")["detail"]["explained"]["findings"]]
    assert {"not_vectorised", "far_below_bandwidth"} <= set(fired), "people still see what fired"
    told = prompt.read_text()
    assert "not_vectorised" not in told and "banned" not in told
    assert told.index("## [division_in_loop]") > told.index("## [far_below_bandwidth]") > 0
    assert "1. [far_below_bandwidth]" in told

    lines = kpd("budget", "--iterations", "3")
    assert "the budget of r1 (running) is now:" in lines
    assert ["iterations", "3", "0", "3"] in [line.split() for line in lines.splitlines()]
    kpd("agent", "operator")
    daemon.command("skip")
    daemon.until_event("iteration_ended", iteration=2)
    kpd("budget", "--stop-score", "1e9")
    assert daemon.until_event("run_ended")["body"]["reason"].startswith("stop score 1e+09 reached"), "it waits no more"


@pytest.mark.usefixtures("told_times")
def test_hours_that_are_used_end_a_run_that_waits_and_more_of_them_continue_it(
    daemon: RealDaemon, workspace: Workspace
) -> None:
    daemon.start()
    daemon.command("run", task="scale", agent="mailbox")
    daemon.until((workspace.iteration_folder("scale", "r1", 1) / "prompt.md").exists, "the first prompt")
    daemon.command("budget", run="r1", hours=1e-6)
    ended = daemon.until_event("run_ended", run="r1")["body"]
    assert (ended["outcome"], ended["cause"]) == ("no_gain", {"kind": "hours_used", "hours": 1e-6})
    daemon.command("budget", run="r1", hours=2)
    daemon.until((workspace.iteration_folder("scale", "r1", 2) / "prompt.md").exists, "the next prompt")
