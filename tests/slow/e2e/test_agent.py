"""A new agent fits without a change of the engine: one that is wrong twice, is told why, and mends it."""

import pytest

from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.e2e.told import told_times

__all__ = ["daemon", "told_times", "workspace"]

WITH_A_NEW_AGENT = """
import asyncio, sys
from pathlib import Path
from kpd.agents import catalogue
from kpd.agents.agent import AgentKind, BadReply, Proposal
from kpd.daemon.process import serve
from kpd.tools.files import BadTool
from kpd.workspace.paths import Workspace

class Learner:
    repairs = True
    reads_steering = False
    asked = 0

    async def propose(self, context):
        self.asked += 1
        context.say(f"asked for the {self.asked}. time")
        failure = context.failure
        told = f"{failure.message}\\n{failure.feedback}".strip() if failure else "first"
        context.keep(f"reply_{self.asked}.md", told)
        if self.asked == 1:
            raise BadReply("no code block")
        repeat = "nonsense" if failure.step == "propose" else \\
                 "0" if failure.step == "build" else "1"
        kernel = context.incumbent["kernel.c"].replace(b"REPEAT 8", b"REPEAT " + repeat.encode())
        return Proposal({"kernel.c": kernel}, f"REPEAT {repeat}")

    async def reflect(self, context):
        raise BadTool("no tool", "build one")

    async def close(self):
        pass

catalogue.AGENTS.register("learner", AgentKind(lambda config, of: Learner(), reflects=True))
asyncio.run(serve(Workspace(Path(sys.argv[1]))))
"""


def test_faults_go_back_to_an_agent_that_repairs(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start(WITH_A_NEW_AGENT)
    daemon.command("run", task="scale", agent="learner", iterations=1, evolve=True)
    assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
    assert any("no tool was built after r1.1: no tool" in str(event) for event in daemon.events("noticed"))
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


FAST = """\
#define REPEAT 1

void scale(const float *x, volatile float *y, long n) {
    for (int r = 0; r < REPEAT; r++)
        for (long i = 0; i < n; i++)
            y[i] = 2.0f * x[i];
}
"""


@pytest.mark.usefixtures("told_times")
def test_anybody_can_be_the_agent_by_mailbox(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    daemon.command("run", task="scale", agent="mailbox", iterations=1)
    home = workspace.iteration_folder("scale", "r1", 1)
    daemon.until((home / "prompt.md").exists, "the prompt")

    def waits() -> list[str]:
        told = [event["body"]["reason"] for event in daemon.events("run_waits")]
        return [reason for reason in told if str(home / "reply.md") in reason]

    daemon.until(waits, "the path to be told")
    daemon.command("pause")
    daemon.command("resume")
    waiting = daemon.query("status")["runs"]["r1"]["waiting"]
    assert waiting["path"] == str(home / "reply.md"), "a pause lets the step go on, with what it waits for"
    (home / "reply.md").write_text("MEMO: no file\n")
    daemon.until((home / "reply.rejected.md").exists, "the reason")
    daemon.kill()
    daemon.start()
    daemon.command("resume")
    (home / "reply.md").write_text(f"MEMO: once is enough\n\n```c kernel.c\n{FAST}```\n")
    assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
    assert daemon.query("show", iteration="r1.1")["iteration"]["memo"] == "once is enough"


@pytest.mark.usefixtures("told_times")
def test_prepared_candidates_are_proposed_in_their_order(daemon: RealDaemon, workspace: Workspace) -> None:
    for name, repeat, memo in (("01_half", 4, "MEMO: half"), ("02_once", 1, "MEMO: [call_in_loop] once")):
        folder = workspace.root / "candidates" / name
        folder.mkdir(parents=True)
        (folder / "kernel.c").write_text(FAST.replace("REPEAT 1", f"REPEAT {repeat}"))
        (folder / "memo.md").write_text(f"{memo}\nEXPECT: ipc up\n")
    daemon.start()
    daemon.command("run", task="scale", agent="script:candidates", iterations=5, patience=5)
    ended = daemon.until_event("run_ended")["body"]
    assert ended["outcome"] == "improved"
    assert "has 2 candidates, and all have been proposed" in ended["reason"]
    told = [daemon.query("show", iteration=f"r1.{number}")["iteration"] for number in (1, 2)]
    assert [(it["memo"], it["aims"]) for it in told] == [("half", []), ("once", ["call_in_loop"])]
