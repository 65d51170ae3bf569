"""Whole runs of a scripted coding agent by a real daemon."""

import json

from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, leftovers, workspace
from tests.support.sessions.scripted import agent, kernel

__all__ = ["daemon", "workspace"]


def test_what_lies_in_the_tree_is_measured_and_a_repair_goes_to_the_same_session(
    daemon: RealDaemon, workspace: Workspace
) -> None:
    agent(
        workspace,
        [
            ["say", "I break it first.\n"],
            ["ask", "edit", "Edit kernel.c", {"file_path": "kernel.c"}],
            ["ask", "edit", "Edit harness.c", {"file_path": "harness.c"}],
            ["ask", "execute", "ls", {"command": "ls -l | head"}],
            ["try", "/tmp/kpd-outside", "x"],
            ["write", "kernel.c", kernel("nonsense")],
            ["cost", 0.25],
        ],
        [["write", "kernel.c", kernel(1)], ["cost", 0.4], ["say", "MEMO: once is enough\nCLAIM: 3.5 us\n"]],
    )
    daemon.start()
    daemon.command("run", task="scale", agent="mine", iterations=1)
    assert daemon.until_event("run_ended")["body"]["outcome"] == "improved", daemon.output
    shown = daemon.query("show", iteration="r1.1")["iteration"]
    assert (shown["outcome"], shown["memo"]) == ("accepted", "once is enough")
    session = shown["session"]
    assert (session["own"], session["agent"], session["turns"], session["end"]) == (
        "their-own-7",
        "scripted 1",
        2,
        "done",
    )
    assert (session["claimed_us"], session["refused"], session["judges"]) == (3.5, 1, ["harness.c"])
    assert shown["spend"]["usd"] == 0.65, "of both turns: each process of an agent counts anew"
    kinds = [event["kind"] for event in daemon.events() if event["kind"].startswith(("session", "asked", "billed"))]
    turn = ["session_known", "asked", "session_prompted", "billed", "session_turned"]
    assert kinds == ["session_opened", *turn, *turn]
    said = (workspace.iteration_folder("scale", "r1", 1) / "session.md").read_text()
    assert "edit allowed\nedit refused\nexecute allowed\n/tmp/kpd-outside: Permission denied" in said
    assert "what was said before" not in said


def test_a_session_over_its_time_is_measured_and_one_that_cannot_go_on_leaves_its_tree(
    daemon: RealDaemon, workspace: Workspace
) -> None:
    agent(
        workspace,
        [["write", "kernel.c", kernel(4)], ["say", "MEMO: four\n"], ["fork", 3], ["sleep", 600]],
        settings='limit = ["600s", "3s"]',
        forgets=True,
    )
    daemon.start()
    daemon.command("run", task="scale", agent="mine", iterations=2, patience=2)
    daemon.until_event("session_prompted")
    written = workspace.iteration_folder("scale", "r1", 1) / "session" / "tree" / "kernel.c"
    daemon.until(lambda: written.read_text() == kernel(4), "the edit")
    daemon.kill()
    daemon.until(lambda: not leftovers(workspace), "the agent and its children to end")
    daemon.start()
    daemon.command("resume")
    daemon.until_event("run_ended")
    turns = [(event["body"]["iteration"], event["body"]["end"]) for event in daemon.events("session_turned")]
    assert turns[:2] == [(1, "lost"), (2, "time")]
    assert len(daemon.events("session_prompted")) == len(turns), "no prompt twice"
    first = daemon.query("show", iteration="r1.1")["iteration"]
    assert (first["outcome"], first["spend"]["unpriced"] + first["spend"]["calls"] > 0) == ("accepted", True)
    bills = daemon.events("billed")
    assert all(bill["body"]["cut"] for bill in bills), "what it cost is not known"


def test_an_operator_answers_what_no_rule_does_and_sends_a_message(daemon: RealDaemon, workspace: Workspace) -> None:
    agent(
        workspace,
        [
            ["ask", "execute", "cargo", {"command": "cargo build"}],
            ["ask", "fetch", "a page", {}],
            ["ask", "edit", "Edit harness.c", {"file_path": "harness.c"}],
            ["write", "kernel.c", kernel(4)],
            ["until_cancelled"],
        ],
        [["write", "kernel.c", kernel(1)], ["say", "MEMO: once\n"]],
        settings="ask = true",
    )
    daemon.start()
    daemon.command("run", task="scale", agent="mine", iterations=1)
    daemon.until_event("permission_asked")
    asks = "the agent of r1.1 asks to execute: cargo build (cargo is not among the programs that you may run)"
    assert daemon.query("status")["runs"]["r1"]["waits"].startswith(asks)
    assert daemon.command("answer", reply="allow", question=1)["what"] == "execute cargo build"
    daemon.until(lambda: len(daemon.events("permission_asked")) == 2, "the second question")
    daemon.command("answer", reply="deny", iteration="r1.1")
    home = workspace.iteration_folder("scale", "r1", 1) / "session" / "state"
    daemon.until(lambda: len(daemon.events("permission_answered")) == 3, "the rule")
    assert daemon.command("steer", text="four times")["at_work"] == "r1.1"
    daemon.command("interrupt", text="once is enough")
    assert daemon.until_event("run_ended")["body"]["outcome"] == "improved", daemon.output
    answers = [(event["body"]["allowed"], event["body"]["by"] != "") for event in daemon.events("permission_answered")]
    assert answers == [(True, True), (False, True), (False, False)]
    assert [event["body"]["end"] for event in daemon.events("session_turned")] == ["stopped", "done"]
    assert "- four times\n- once is enough\n" in (home / "prompt_1.md").read_text()
    assert daemon.query("show", iteration="r1.1")["iteration"]["memo"] == "once"


def test_a_plain_program_is_told_the_task_again_for_a_repair_and_is_not_asked_twice(
    daemon: RealDaemon, workspace: Workspace
) -> None:
    script = workspace.root.parent / "agent.sh"
    script.write_text(
        f"""cp "$1" "$HOME/prompt_$(ls "$HOME" | wc -l).md"
        if grep -q 'You have worked on this before' "$1"; then
        cat > kernel.c <<'END'
{kernel(1)}
END
        echo 'MEMO: mended'; sleep 600; fi
        echo nonsense > kernel.c"""
    )
    words = json.dumps(["/bin/sh", str(script), "{prompt_file}"])
    table = f"\n[agents.plain]\nexec = {words}\nreads = [{json.dumps(str(script))}]\n"
    workspace.config.write_text(workspace.config.read_text() + table)
    daemon.start()
    daemon.command("run", task="scale", agent="plain", iterations=1)
    tree = workspace.iteration_folder("scale", "r1", 1) / "session" / "tree"
    daemon.until_event("session_prompted", turn=2)
    daemon.until(lambda: (tree / "kernel.c").read_text().strip() == kernel(1).strip(), "the repair")
    daemon.kill()
    daemon.until(lambda: not leftovers(workspace), "the program to end")
    daemon.start()
    daemon.command("resume")
    assert daemon.until_event("run_ended")["body"]["outcome"] == "improved", daemon.output
    assert [event["body"]["end"] for event in daemon.events("session_turned")] == ["done", "lost"]
    prompts = sorted((tree.parent / "state").glob("prompt_*.md"))
    assert len(prompts) == 2, "no prompt twice"
    assert prompts[0].read_text() in prompts[1].read_text()
    assert "-m kpd.cli.main mcp` with your own environment" in prompts[0].read_text()
