"""Money and trouble of the agent claude in whole runs: what a daemon's end, a pause and a new config mean for it."""

import threading
import time

import pytest

from kpd.workspace.paths import Workspace
from tests.support.claude.anthropic_server import Asked, Behaviour, Broken, Reply, Status
from tests.support.claude.model_service import beside
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.e2e.replies import in_turn, reply
from tests.support.e2e.told import told_times

__all__ = ["daemon", "told_times", "workspace"]

pytestmark = pytest.mark.usefixtures("told_times")


def test_a_call_that_a_killed_daemon_was_making_is_on_the_bill(daemon: RealDaemon, workspace: Workspace) -> None:
    with beside(workspace, in_turn(Broken("stall", reply(1), after=20), Reply(reply(1)))) as server:
        daemon.start()
        daemon.command("run", task="scale", agent="claude", iterations=1)
        daemon.until(lambda: len(server.asked) == 1, "the question")
        daemon.kill()
        daemon.start()
        assert any("was asking" in notice["text"] for notice in daemon.query("status")["notices"])
        daemon.command("resume")
        assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
        assert len(server.asked) == 2
    found = daemon.query("cost")["runs"][0]
    assert (found["spend"]["calls"], found["spend"]["inexact"]) == (2, 1)
    assert (found["cut"], found["unseen"]) == (0, 1), "counted at its most, which is not what was spent"


def test_what_a_person_puts_right_in_the_config_holds_when_the_run_goes_on(
    daemon: RealDaemon, workspace: Workspace
) -> None:
    with beside(workspace, in_turn(Reply(reply(1))), 'model = "claude-sonnet-9"\nmax_usd_per_day = 0\n') as server:
        text = workspace.config.read_text() + '[claude.prices."claude-sonnet-9"]\ninput = 1.0\noutput = 1.0\n'
        workspace.config.write_text(text)
        daemon.start()
        daemon.command("run", task="scale", agent="claude", iterations=1)
        assert "claude-sonnet-9" in daemon.until_event("run_paused")["body"]["reason"]
        workspace.config.write_text(text.replace('model = "claude-sonnet-9"', 'model = "claude-sonnet-5-5"'))
        daemon.command("resume")  # at once
        assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
        assert [asked.body["model"] for asked in server.asked] == ["claude-sonnet-9", "claude-sonnet-5-5"]


def test_a_paused_run_asks_nothing(daemon: RealDaemon, workspace: Workspace) -> None:
    paused = threading.Event()

    def script(asked: Asked) -> Behaviour:
        return Reply(reply(1)) if paused.is_set() else Status(529, "overloaded_error")

    with beside(workspace, script) as server:
        daemon.start()
        daemon.command("run", task="scale", agent="claude", iterations=1)
        daemon.until(lambda: daemon.events("asked"), "the first question")
        daemon.command("pause")
        asked = len(server.asked)
        paused.set()
        daemon.command("steer", text="two rounds of pauses go by")
        time.sleep(4)
        more = len(server.asked) - asked
        assert more <= 1, "one may have been on its way"
        assert len(daemon.events("proposed")[1:]) <= more
        daemon.command("resume")
        assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
