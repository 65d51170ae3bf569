"""How a daemon ends, and what the next one makes of it: real signals to real processes."""

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.daemon.signals import said, send
from tests.support.patience import PATIENCE_S

__all__ = ["daemon", "workspace"]
SLOW_TO_BEGIN = """
import asyncio, sys
from pathlib import Path
from kpd.agents import catalogue
from kpd.agents.agent import AgentKind
from kpd.agents.operator import OperatorEdit
from kpd.daemon.process import serve
from kpd.workspace.paths import Workspace

root = Path(sys.argv[1])

class Slow(OperatorEdit):
    async def propose(self, context):
        (root / "asked").touch()
        while not (root / "answer").exists():
            await asyncio.sleep(0.02)
        return await super().propose(context)

catalogue.UNNAMED["baseline"] = AgentKind(lambda config, of: Slow(), operators=True)
asyncio.run(serve(Workspace(root)))
"""


@pytest.fixture
def asked(daemon: RealDaemon, workspace: Workspace) -> Iterator[RealDaemon]:
    """A daemon whose run is in the middle of its first step."""
    daemon.start(SLOW_TO_BEGIN)
    daemon.command("run", task="scale", agent="sweep", iterations=1)
    daemon.until((workspace.root / "asked").exists, "the agent to be asked")
    yield daemon


def test_a_signal_lets_the_step_end_and_the_next_daemon_goes_on_by_itself(
    asked: RealDaemon, workspace: Workspace
) -> None:
    send(asked, signal.SIGTERM)
    assert said(asked, "the daemon ends after the step propose of r1.0; kpd shutdown --now")
    assert asked.command("run", task="scale", agent="sweep", iterations=1) == {"run": "r2"}, "it still takes commands"
    (workspace.root / "answer").touch()
    assert asked.wait() == 0
    asked.start(SLOW_TO_BEGIN)
    assert asked.query("status")["held"] == ""
    asked.until_event("iteration_ended", run="r1", outcome="baseline")
    assert [event["body"]["iteration"] for event in asked.events("proposed")] == [0], "it was asked once"
    stopped = next(event["seq"] for event in asked.events("daemon_stopped"))
    begun = [event["body"]["step"] for event in asked.events("step_started") if event["seq"] < stopped]
    assert begun == ["propose"], "nothing began after the step"


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_it_now_and_the_next_daemon_waits_for_a_person(
    asked: RealDaemon, workspace: Workspace, second: signal.Signals
) -> None:
    send(asked, signal.SIGTERM)
    assert said(asked, "the daemon ends after the step propose")
    send(asked, second)
    assert asked.wait() == 0
    (workspace.root / "answer").touch()
    asked.start(SLOW_TO_BEGIN)
    assert "the daemon was shut down in the step propose of r1.0" in asked.query("status")["held"]
    asked.command("resume")
    asked.until_event("proposed")


def test_a_run_that_a_person_has_paused_stays_paused(asked: RealDaemon, workspace: Workspace) -> None:
    asked.command("pause")
    send(asked, signal.SIGINT)
    assert said(asked, "the daemon ends after the step propose of r1.0")
    (workspace.root / "answer").touch()
    assert asked.wait() == 0
    asked.start()
    status = asked.query("status")
    assert (status["held"], status["runs"]["r1"]["status"]) == ("", "paused")
    assert asked.command("shutdown")["finishes"] == [], "what is paused is at rest"
    assert asked.wait() == 0


def test_a_step_that_only_waits_is_not_waited_for(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    daemon.command("run", task="scale", agent="mailbox", iterations=1)
    prompt = workspace.iteration_folder("scale", "r1", 1) / "prompt.md"
    daemon.until(prompt.exists, "the question")
    daemon.until_event("run_waits")
    send(daemon, signal.SIGTERM)
    assert daemon.wait() == 0
    daemon.start()
    assert daemon.query("status")["held"] == ""
    kernel = (workspace.tasks / "scale" / "kernel.c").read_text().replace("REPEAT 8", "REPEAT 1")
    (prompt.parent / "reply.md").write_text(f"MEMO: once\n```c kernel.c\n{kernel}```\n")
    assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"


def test_the_shell_s_word_waits_for_the_step_or_cuts_it(asked: RealDaemon, workspace: Workspace) -> None:
    def shutdown(*more: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "kpd.cli.main", "-w", str(workspace.root), "shutdown", *more]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)

    patient = shutdown()
    assert patient.stderr is not None
    told = "the daemon ends after the step propose of r1.0; kpd shutdown --now ends it at once\n"
    assert patient.stderr.readline() == told
    assert asked.command("shutdown")["finishes"] == ["the step propose of r1.0"], "to ask once more is no second signal"
    now = shutdown("--now")
    _, words = now.communicate(timeout=PATIENCE_S)
    assert (now.returncode, words) == (0, "the daemon has ended; what was under way waits for kpd resume\n")
    assert patient.wait(PATIENCE_S) == 0
    assert asked.wait() == 0
    again = shutdown()
    _, words = again.communicate(timeout=PATIENCE_S)
    assert (again.returncode, words) == (0, f"no daemon runs for {workspace.root}\n")
