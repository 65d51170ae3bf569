"""The real Codex, from npm, in a run of a real daemon, against a scripted model service."""

import json
from pathlib import Path

from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, leftovers, workspace
from tests.support.sessions.codex_service import serving
from tests.support.sessions.npm_agents import codex
from tests.support.sessions.scripted import kernel

__all__ = ["codex", "daemon", "workspace"]

OUTSIDE = Path("/tmp/kpd-codex-outside")


def written(source: str) -> tuple[str, dict[str, str]]:
    return "exec_command", {"cmd": f"cat > kernel.c <<'END'\n{source}END\n"}


def test_it_is_refused_goes_on_after_a_kill_is_repaired_tries_and_is_accepted(
    daemon: RealDaemon, workspace: Workspace, codex: Path
) -> None:
    steps = (
        ("exec_command", {"cmd": f"echo x > {OUTSIDE}"}),
        "the daemon is killed before this is said",
        written(kernel("nonsense")),
        "MEMO: broken\n",
        ("mcp__kpd.inspect", {}),
        written(kernel(1)),
        ("mcp__kpd.try", {}),
        "MEMO: once is enough\nEXPECT: ipc up, gain 80 %\nCLAIM: 88 us\n",
    )
    with serving(*steps) as service:
        service.hold_at = 2
        provider = {"name": "scripted", "base_url": f"{service.url}/v1", "wire_api": "responses"}
        provider |= {"requires_openai_auth": True}  # as its own service does: the key has to log it in
        settings = {"model": "scripted", "model_provider": "scripted", "model_providers": {"scripted": provider}}
        table = f"command = {json.dumps([str(codex)])}\nenv = {{ CODEX_CONFIG = {json.dumps(json.dumps(settings))} }}"
        workspace.config.write_text(f"{workspace.config.read_text()}\n[agents.codex]\n{table}\n")
        daemon.env["OPENAI_API_KEY"] = "sk-scripted-and-secret"
        daemon.start()
        daemon.command("run", task="scale", agent="codex", iterations=1)
        daemon.until(lambda: len(service.asked) == 2, "the second question")
        daemon.kill()
        daemon.until(lambda: not leftovers(workspace), "the agent to end with its daemon")
        service.go_on.set()
        daemon.start()
        daemon.command("resume")
        ended = daemon.until_event("run_ended")["body"]
        assert service.keys == {"sk-scripted-and-secret"}
    asked = [json.dumps(body["input"]) for body in service.asked]
    assert ended["outcome"] == "improved", daemon.output
    shown = daemon.query("show", iteration="r1.1")["iteration"]
    session = shown["session"]
    assert (shown["outcome"], shown["memo"], session["claimed_us"]) == ("accepted", "once is enough", 88.0)
    assert (session["turns"], len({event["body"]["own"] for event in daemon.events("session_known")})) == (3, 1)
    assert "Permission denied" in asked[1]
    assert not OUTSIDE.exists()
    assert "stopped in the middle of your turn" in asked[2]
    assert "nonsense" in asked[4], "the compiler's words"
    assert daemon.events("tried")[0]["body"]["end"] == "measured"
    assert [event["body"]["cut"] for event in daemon.events("billed")] == [True, False, False]
