"""A new agent fits without a change of the engine: one that is wrong twice, is told why, and mends it."""

from kpd.workspace.paths import Workspace
from tests.real_daemon import RealDaemon, daemon, workspace

__all__ = ["daemon", "workspace"]

WITH_A_NEW_AGENT = """
import asyncio, sys
from pathlib import Path
import kpd.engine.engine
from kpd.agents import catalogue
from kpd.agents.agent import BadReply, Proposal
from kpd.daemon.process import serve
from kpd.workspace.paths import Workspace

class Learner:
    repairs = True
    asked = 0

    async def propose(self, context):
        self.asked += 1
        context.say(f"asked for the {self.asked}. time")
        context.keep(f"reply_{self.asked}.md", context.failure or "first")
        if self.asked == 1:
            raise BadReply("no code block")
        repeat = "nonsense" if not context.failure.startswith(("does not build", "incorrect")) else \\
                 "0" if context.failure.startswith("does not build") else "1"
        kernel = context.incumbent["kernel.c"].replace(b"REPEAT 8", b"REPEAT " + repeat.encode())
        return Proposal({"kernel.c": kernel}, f"REPEAT {repeat}")

    async def close(self):
        pass

catalogue.AGENTS["learner"] = lambda config: Learner()
kpd.engine.engine.CHOICES = ("learner",)
asyncio.run(serve(Workspace(Path(sys.argv[1]))))
"""


def test_faults_go_back_to_an_agent_that_repairs(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start(WITH_A_NEW_AGENT)
    daemon.command("run", task="scale", agent="learner", iterations=1)
    assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
    faults = [event["body"] for event in daemon.events("faulted")]
    assert [(fault["step"], fault["attempt"]) for fault in faults] == [("build", 1), ("check", 2)]
    assert "nonsense" in faults[0]["message"]
    assert "\n" not in faults[0]["message"]
    folder = workspace.iteration_folder("scale", "r1", 1)
    told = (folder / "reply_3.md").read_text().splitlines()
    assert told[0] == faults[0]["message"]
    assert any("nonsense" in line for line in told[1:]), "what the compiler said, beside the line for a table"
    assert faults[1]["message"].startswith("incorrect:")
    assert (folder / "reply_2.md").read_text() == "no code block"
    assert (folder / "candidate" / "build.json").exists(), "what a proposal leaves out stays the incumbent's"
    assert daemon.query("show", iteration="r1.1")["iteration"]["outcome"] == "accepted"
