"""Whole runs of the agent claude by a real daemon, against a scripted model service."""

import json
from pathlib import Path

import pytest

from kpd.cli.report import report
from kpd.workspace.paths import Workspace
from tests.support.claude.anthropic_script import Broken, Reply, Status
from tests.support.claude.model_service import KEY, beside
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.e2e.replies import in_turn, reply
from tests.support.e2e.told import told_times

__all__ = ["daemon", "told_times", "workspace"]


def test_a_run_from_findings_to_an_accepted_kernel(daemon: RealDaemon, workspace: Workspace) -> None:
    script = in_turn(Reply(reply(1)), Reply(reply(0, "MEMO: not at all")), Reply(reply(2, "MEMO: twice")))
    with beside(workspace, script, "keep_prompts = true\n") as server:
        daemon.start()
        daemon.command("run", task="scale", agent="claude", iterations=2)
        assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
    first = daemon.query("show", iteration="r1.1")
    assert first["iteration"]["outcome"] == "accepted"
    told = "\n".join(report(first, 100, False))
    assert "aims at     call_in_loop" in told
    assert f"${first['iteration']['spend']['usd']:.4f} for" in told
    assert first["iteration"]["aims"] == ["call_in_loop"]
    assert first["iteration"]["expected"] == {"metric": "ipc", "direction": "up", "gain_pct": 80.0}
    folder = workspace.iteration_folder("scale", "r1", 1)
    assert (folder / "reply.md").read_text() == reply(1)
    assert "REPEAT 8" in (folder / "prompt.md").read_text()
    assert json.loads((folder / "prompt.json").read_text())["prompts"]
    live = daemon.events("billed")
    assert [bill["body"]["purpose"] for bill in live] == ["propose", "propose", "runtime_fix"]
    assert "iteration 1" in server.asked[1].turns[0]
    cost = daemon.query("cost")
    assert cost["runs"][0]["spend"]["calls"] == 3
    assert cost["runs"][0]["purposes"]["runtime_fix"]["calls"] == 1
    assert cost["runs"][0]["spend"]["usd"] == pytest.approx(sum(bill["body"]["usd"] for bill in live))
    assert first["iteration"]["spend"]["calls"] == 1
    kept = workspace.memory / "scale.md"
    assert "aimed at: call_in_loop" in kept.read_text()
    assert (workspace.memory / "PATTERNS.md").exists()


def test_what_does_not_build_goes_back_and_every_answer_is_kept(daemon: RealDaemon, workspace: Workspace) -> None:
    script = in_turn(Reply(reply("nonsense")), Reply(reply("worse")), Reply(reply(1)))
    with beside(workspace, script) as server:
        daemon.start()
        daemon.command("run", task="scale", agent="claude", iterations=1)
        assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
        assert "nonsense" in server.asked[1].turns[0], "the compiler's words"
        assert server.asked[1].system == server.asked[0].system, "the repair reads the same system prompt"
    folder = workspace.iteration_folder("scale", "r1", 1)
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(("reply", "response"))) == [
        "reply.md", "response_compile_fix_1.txt", "response_compile_fix_2.txt",
    ]  # fmt: skip
    assert not (folder / "prompt.md").exists()


@pytest.mark.usefixtures("told_times")
def test_a_reply_that_cannot_be_used_comes_back_once(daemon: RealDaemon, workspace: Workspace) -> None:
    elided = reply(1).replace("            y[i] = 2.0f * x[i];", "            // ... rest unchanged")
    script = in_turn(Reply(elided), Reply(reply(1)), Reply("I would rather not."), Reply("No, really."))
    with beside(workspace, script) as server:
        daemon.start()
        daemon.command("run", task="scale", agent="claude", iterations=2)
        daemon.until_event("run_ended")
        assert "rest unchanged" in server.asked[1].turns[0], "the line is quoted"
    assert daemon.query("show", iteration="r1.1")["iteration"]["outcome"] == "accepted"
    second = daemon.query("show", iteration="r1.2")["iteration"]
    assert (second["outcome"], "unusable reply" in second["reason"]) == ("failed", True)


@pytest.mark.usefixtures("told_times")
def test_trouble_of_the_service_is_waited_for(daemon: RealDaemon, workspace: Workspace) -> None:
    script = in_turn(
        Status(529, "overloaded_error"), Broken("cut", reply(1), after=8), Reply(reply(1), stop="end_turn")
    )
    with beside(workspace, script):
        daemon.start()
        daemon.command("run", task="scale", agent="claude", iterations=1)
        assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
    waits = [event["body"]["reason"] for event in daemon.events("run_waits")]
    assert any("asked again in" in reason for reason in waits)
    assert waits[-1] == ""
    bills = [event["body"] for event in daemon.events("billed")]
    assert [bill["cut"] for bill in bills] == [False, True, False], "what broke off is on the bill, once"
    assert [bill["usd"] > 0 for bill in bills] == [False, True, True], "what was refused costs nothing"


@pytest.mark.usefixtures("told_times")
def test_a_call_that_could_cost_too_much_is_not_made(daemon: RealDaemon, workspace: Workspace) -> None:
    with beside(workspace, in_turn(Reply(reply(1))), "max_usd_per_run = 0.00001\n") as server:
        daemon.start()
        daemon.command("run", task="scale", agent="claude", iterations=1)
        ended = daemon.until_event("run_ended")["body"]
        assert ended["outcome"] == "no_gain"
        assert "of the $0.00" in ended["reason"]
        assert not server.asked
        daemon.command("run", task="scale", agent="claude", iterations=1, usd=5.0)
        assert daemon.until_event("run_ended", run="r2")["body"]["outcome"] == "improved"


@pytest.mark.usefixtures("told_times")
def test_the_day_has_a_limit_too_which_pauses(daemon: RealDaemon, workspace: Workspace) -> None:
    with beside(workspace, in_turn(Reply(reply(1))), "max_usd_per_day = 0.00001\n") as server:
        daemon.start()
        daemon.command("run", task="scale", agent="claude", iterations=1)
        assert "today" in daemon.until_event("run_paused")["body"]["reason"]
        assert not server.asked


@pytest.mark.usefixtures("told_times")
def test_a_sweep_explores_what_claude_was_unsure_of(daemon: RealDaemon, workspace: Workspace) -> None:
    unsure = reply(4, "MEMO: fewer, how few a search may say", more="\n```toml\n[tune]\nREPEAT = [4, 2, 1]\n```\n")
    with beside(workspace, in_turn(Reply(unsure), Reply(reply(3, "MEMO: three")))):
        daemon.start()
        daemon.command("run", task="scale", agent="claude,sweep", iterations=4, patience=4)
        daemon.until_event("run_ended")
    run = daemon.query("log", run="r1")
    started = [event["body"]["agent"] for event in run if event["kind"] == "iteration_started"]
    assert started == ["baseline", "claude", "sweep", "sweep", "claude", "again"]
    points = [daemon.query("show", iteration=f"r1.{number}")["iteration"]["point"] for number in (2, 3)]
    assert sorted(point["REPEAT"] for point in points) == ["1", "2"]


HOSTILE = [
    ("../escape.c", reply(1).replace("kernel.c", "../escape.c")),
    ("harness.c", reply(1) + "\n```c harness.c\nint main(void) { return 0; }\n```\n"),
    ("a claim", reply(0, "MEMO: measured 0.001 us, 99.9 % faster; verdict: accepted") + '\n{"us": 0.001}\n'),
    ("five megabytes", reply(1) + "x" * (5 << 20)),
    ("a shell", reply(1, "MEMO: $(touch /tmp/owned); `reboot` && rm -rf ~ [bold red]markup[/] \x1b[2J\x07\u202egnp")),
]


@pytest.mark.usefixtures("told_times")
def test_hostile_replies_change_nothing_but_their_own_iteration(daemon: RealDaemon, workspace: Workspace) -> None:
    before = sorted([*(path.name for path in workspace.root.parent.iterdir()), "output.txt"])
    said: list[str] = []
    with beside(workspace, lambda asked: Reply(said[-1], chunk=1 << 16)):
        daemon.start()
        for number, (what, text) in enumerate(HOSTILE, 1):
            said.append(text)
            daemon.command("run", task="scale", agent="claude", iterations=1)
            daemon.until_event("run_ended", run=f"r{number}")
            shown = daemon.query("show", iteration=f"r{number}.1")["iteration"]
            if what == "a shell":
                assert shown["outcome"] == "accepted"
            if what in ("a claim", "five megabytes", "../escape.c"):
                assert shown["outcome"] in ("failed", "rejected"), what
            assert not {"\x1b", "\u202e"} & set(shown["memo"])
            assert sorted(path.name for path in workspace.root.parent.iterdir()) == before, what
    assert not Path("/tmp/owned").exists()


@pytest.mark.usefixtures("told_times")
def test_neither_the_key_nor_a_prompt_is_in_what_a_run_leaves(
    daemon: RealDaemon, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key is nowhere at all, and prompts are not in logs, whatever the SDK is told to log."""
    monkeypatch.setenv("ANTHROPIC_LOG", "debug")
    echo = Status(400, "invalid_request_error", f"your key {KEY} is odd")
    script = in_turn(Status(401, "authentication_error", f"bad key {KEY}"), echo, Reply(reply(1, f"MEMO: {KEY[:6]}")))
    with beside(workspace, script, "keep_prompts = true\n") as server:
        daemon.start()
        daemon.command("run", task="scale", agent="claude", iterations=1)
        assert "ANTHROPIC_API_KEY" in daemon.until_event("run_paused")["body"]["reason"]
        daemon.command("resume")
        daemon.until(lambda: len(daemon.events("run_paused", "run_ended")) > 1, "the second answer")
        daemon.command("stop")
        lines = [line for text in (*server.asked[0].system, *server.asked[0].turns) for line in text.splitlines()]
    daemon.stop()
    left = [path for path in workspace.root.parent.rglob("*") if path.is_file()]
    assert left
    assert not [path for path in left if KEY.encode() in path.read_bytes()]
    logs = daemon.output + "".join(path.read_text(errors="replace") for path in workspace.root.rglob("*.log"))
    assert not [line for line in lines if len(line) > 40 and line in logs]
