"""The real OpenCode, from npm, in a run of a real daemon, against a scripted model service."""

import json
from pathlib import Path

from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.sessions.claude_service import serving
from tests.support.sessions.npm_agents import opencode
from tests.support.sessions.scripted import kernel

__all__ = ["daemon", "opencode", "workspace"]

OUTSIDE = Path("/tmp/kpd-opencode-outside")


def test_it_writes_nothing_elsewhere_is_repaired_and_accepted(
    daemon: RealDaemon, workspace: Workspace, opencode: Path
) -> None:
    file = str(workspace.iteration_folder("scale", "r1", 1) / "session" / "tree" / "kernel.c")
    steps = (
        ("bash", {"command": f"echo x > {OUTSIDE}", "description": "write elsewhere"}),
        ("read", {"filePath": file}),
        ("write", {"filePath": file, "content": kernel("nonsense")}),
        "MEMO: broken\n",
        ("write", {"filePath": file, "content": kernel(1)}),
        "MEMO: once is enough\nEXPECT: ipc up, gain 80 %\nCLAIM: 88 us\n",
    )
    with serving(*steps) as service:
        model = {"id": "scripted", "name": "scripted", "tool_call": True, "limit": {"context": 100000, "output": 4000}}
        provider = {"options": {"baseURL": f"{service.url}/v1"}, "models": {"scripted": model}}
        settings = {
            "model": "anthropic/scripted", "small_model": "anthropic/scripted", "autoupdate": False,
            "share": "disabled", "provider": {"anthropic": provider},
        }  # fmt: skip
        env = f"env = {{ OPENCODE_CONFIG_CONTENT = {json.dumps(json.dumps(settings))} }}"
        table = f"[agents.opencode]\ncommand = {json.dumps([str(opencode), 'acp'])}\n{env}"
        workspace.config.write_text(f"{workspace.config.read_text()}\n{table}\n")
        daemon.env["ANTHROPIC_API_KEY"] = "scripted-and-secret"
        daemon.start()
        daemon.command("run", task="scale", agent="opencode", iterations=1)
        ended = daemon.until_event("run_ended")["body"]
        assert service.keys == {"scripted-and-secret"}
    assert ended["outcome"] == "improved", daemon.output
    shown = daemon.query("show", iteration="r1.1")["iteration"]
    session = shown["session"]
    assert (shown["outcome"], shown["memo"], session["claimed_us"]) == ("accepted", "once is enough", 88.0)
    assert (session["turns"], session["online"]) == (2, False)
    assert not OUTSIDE.exists()
