"""Agents in whole runs: who takes a turn, who reads what the operator says, and what an answer that fails leaves."""

from typing import Any

import pytest

from kpd.workspace.paths import Workspace
from tests.support.claude.anthropic_script import Asked, Behaviour, Broken, Reply
from tests.support.claude.model_service import beside
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.e2e.replies import KERNEL, in_turn, reply
from tests.support.e2e.told import told_times

__all__ = ["daemon", "told_times", "workspace"]

TUNE = "\n```toml\n[tune]\nREPEAT = [4, 2, 1]\n```\n"
NO = Reply("I would rather not.")


def silent(repeat: object) -> Reply:
    """A kernel, and not a word."""
    return Reply(f"```c kernel.c\n{KERNEL.format(repeat=repeat)}```\n")


def candidates(workspace: Workspace, folder: str, number: int) -> str:
    """The name of an agent with so many candidates, none of which builds."""
    for one in range(number):
        home = workspace.root / folder / f"{one}"
        home.mkdir(parents=True)
        (home / "kernel.c").write_text(KERNEL.format(repeat="nonsense"))
    return f"script:{folder}"


def iteration(daemon: RealDaemon, number: int) -> Any:
    return daemon.query("show", iteration=f"r1.{number}")["iteration"]


def begun(daemon: RealDaemon) -> list[str]:
    return [event["body"]["agent"] for event in daemon.events("iteration_started")]


@pytest.mark.usefixtures("told_times")
def test_what_the_operator_says_is_left_by_the_sweep_for_claude(daemon: RealDaemon, workspace: Workspace) -> None:
    note = "no more loops, please: REPEAT=2"

    def script(asked: Asked) -> Behaviour:
        if len(server.asked) > 1:
            return NO
        daemon.command("steer", text=note)
        return Reply(reply(4, more=TUNE))

    with beside(workspace, script) as server:
        daemon.start()
        daemon.command("run", task="scale", agent="claude,sweep", iterations=4, patience=9)
        daemon.until_event("run_ended")
    assert begun(daemon) == ["baseline", "claude", "sweep", "sweep", "claude", "again"]
    assert iteration(daemon, 2)["point"] == {"REPEAT": "2"}, "a sweep's parameter is pinned by it, too"
    assert [event["body"]["iteration"] for event in daemon.events("steering_consumed")] == [4]
    assert note not in server.asked[0].turns[0]
    assert note in server.asked[1].turns[0]


@pytest.mark.usefixtures("told_times")
def test_what_a_skipped_iteration_was_told_is_told_again(daemon: RealDaemon, workspace: Workspace) -> None:
    with beside(workspace, in_turn(Broken("stall"), Reply(reply(1)))) as server:
        daemon.start()
        daemon.command("run", task="scale", agent="claude", iterations=1)
        daemon.command("steer", text="mind the loop")
        daemon.until(lambda: server.asked, "the question")
        daemon.command("skip")
        assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
    assert ["mind the loop" in asked.turns[0] for asked in server.asked] == [True, True]
    assert [event["body"]["iteration"] for event in daemon.events("steering_consumed")] == [1, 2]


@pytest.mark.usefixtures("told_times")
def test_prepared_candidates_take_no_steering(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    daemon.command("run", task="scale", agent=candidates(workspace, "prepared", 1))
    daemon.command("steer", text="who reads this?")
    daemon.until_event("run_ended")
    assert not daemon.events("steering_consumed")


@pytest.mark.usefixtures("told_times")
def test_an_agent_with_nothing_left_leaves_the_turns_to_the_others(daemon: RealDaemon, workspace: Workspace) -> None:
    agents = ",".join(candidates(workspace, folder, number) for folder, number in (("one", 1), ("three", 3)))
    daemon.start()
    daemon.command("run", task="scale", agent=agents, iterations=9, patience=9)
    ended = daemon.until_event("run_ended")["body"]
    one, three = agents.split(",")
    assert begun(daemon) == ["baseline", one, three, one, three, three, three]
    assert (ended["outcome"], ended["reason"].count("have been proposed")) == ("no_gain", 2)


@pytest.mark.usefixtures("told_times")
def test_a_repair_keeps_what_it_does_not_say_again(daemon: RealDaemon, workspace: Workspace) -> None:
    first = reply("nonsense", "MEMO: [call_in_loop] once is enough", more=TUNE)
    second = Reply(f"MEMO: with a semicolon\n\n```c kernel.c\n{KERNEL.format(repeat='worse')}```\n")
    with beside(workspace, in_turn(Reply(first), second, silent(1))):
        daemon.start()
        daemon.command("run", task="scale", agent="claude", iterations=1)
        assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
    it = iteration(daemon, 1)
    assert (it["memo"], it["aims"]) == ("with a semicolon", ["call_in_loop"])
    assert it["expected"] == {"metric": "ipc", "direction": "up", "gain_pct": 80.0}
    assert (it["tune"], it["point"]) == ({"REPEAT": ["4", "2", "1"]}, {"REPEAT": "1"})
    assert (workspace.iteration_folder("scale", "r1", 1) / "memo.md").read_text() == "with a semicolon\n"
    assert "aimed at: call_in_loop" in (workspace.memory / "scale.md").read_text()


def test_parameters_that_a_repair_removes_are_forgotten(daemon: RealDaemon, workspace: Workspace) -> None:
    plain = KERNEL.format(repeat=1).replace("#define REPEAT 1", "").replace("REPEAT", "1")
    repaired = Reply(f"```c kernel.c\n{plain}```\n")
    with beside(workspace, in_turn(Reply(reply("nonsense", more=TUNE)), repaired)):
        daemon.start()
        daemon.command("run", task="scale", agent="claude", iterations=1)
        daemon.until_event("run_ended")
    assert (iteration(daemon, 1)["tune"], iteration(daemon, 1)["outcome"]) == ({}, "accepted")


@pytest.mark.usefixtures("told_times")
def test_the_operators_own_memo_outlasts_a_repair(daemon: RealDaemon, workspace: Workspace) -> None:
    def script(asked: Asked) -> Behaviour:
        if len(server.asked) == 1:
            return Reply(reply("nonsense"))
        daemon.command("memo", iteration="r1.1", text="my own words")
        return Reply(reply(1, "MEMO: its own words"))

    with beside(workspace, script) as server:
        daemon.start()
        daemon.command("run", task="scale", agent="claude", iterations=1)
        daemon.until_event("run_ended")
    assert iteration(daemon, 1)["memo"] == "my own words"


@pytest.mark.usefixtures("told_times")
def test_every_answer_has_a_file_of_its_own(daemon: RealDaemon, workspace: Workspace) -> None:
    with beside(workspace, in_turn(Reply(reply("nonsense")), NO, Reply(reply("worse")), Reply(reply(1)))):
        daemon.start()
        daemon.command("run", task="scale", agent="claude", iterations=1)
        assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
    home = workspace.iteration_folder("scale", "r1", 1)
    kept = {path.name: path.read_text() for path in home.iterdir() if path.name.startswith(("reply", "response"))}
    assert list(map(kept.get, sorted(kept))) == [reply("nonsense"), NO.text, reply("worse"), reply(1)]
    assert len(daemon.events("faulted")) == 2, "an unusable answer is no attempt at the fault"


@pytest.mark.usefixtures("told_times")
def test_a_daemon_killed_while_it_asks_again_goes_on_there(daemon: RealDaemon, workspace: Workspace) -> None:
    with beside(workspace, in_turn(NO, Broken("stall", reply(8), after=9), Reply(reply(1)))) as server:
        daemon.start()
        daemon.command("run", task="scale", agent="claude", iterations=1)
        daemon.until(lambda: len(server.asked) == 2, "the second question")
        daemon.kill()
        daemon.start()
        daemon.command("resume")
        assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
        assert server.asked[2].turns == server.asked[1].turns
        assert server.asked[2].turns != server.asked[0].turns
    home = workspace.iteration_folder("scale", "r1", 1)
    assert (home / "reply.md").read_text() == NO.text
    assert [path.read_text() for path in home.glob("reply_again*")] == [reply(1)]


def test_without_money_for_a_repair_the_fault_stands(daemon: RealDaemon, workspace: Workspace) -> None:
    dear = Reply(reply("nonsense"), usage={"output_tokens": 10_000_000})
    with beside(workspace, in_turn(dear)) as server:
        daemon.start()
        agents = f"claude,{candidates(workspace, 'prepared', 2)}"
        daemon.command("run", task="scale", agent=agents, iterations=9, patience=9, usd=5.0)
        ended = daemon.until_event("run_ended")["body"]
        assert len(server.asked) == 1
    failed = iteration(daemon, 1)
    assert failed["outcome"] == "failed"
    assert failed["reason"].startswith("does not build: ")
    assert "not mended: $100.01 of the $5.00 for the run" in failed["reason"]
    assert "once is enough" in (workspace.memory / "scale.md").read_text()
    assert begun(daemon).count(agents.split(",")[1]) == 3, "the others go on, to their end"
    assert "of the $5.00" in ended["reason"]
