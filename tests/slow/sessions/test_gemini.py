"""The real Gemini CLI, from npm, in a run of a real daemon, against a scripted model service."""

import json
from pathlib import Path

from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.sessions.gemini_service import serving
from tests.support.sessions.npm_agents import gemini
from tests.support.sessions.scripted import kernel

__all__ = ["daemon", "gemini", "workspace"]

OUTSIDE = Path("/tmp/kpd-gemini-outside")


def test_it_writes_nothing_elsewhere_is_repaired_tries_and_is_accepted(
    daemon: RealDaemon, workspace: Workspace, gemini: Path
) -> None:
    file = str(workspace.iteration_folder("scale", "r1", 1) / "session" / "tree" / "kernel.c")
    steps = (
        (
            "run_shell_command",
            {"command": f"test -t 0 && echo a terminal; echo x > {OUTSIDE}", "description": "write elsewhere"},
        ),
        ("write_file", {"file_path": file, "content": kernel("nonsense")}),
        "MEMO: broken\n",
        ("mcp_kpd_inspect", {}),
        ("write_file", {"file_path": file, "content": kernel(1)}),
        ("mcp_kpd_try", {}),
        "MEMO: once is enough\nEXPECT: ipc up, gain 80 %\nCLAIM: 88 us\n",
    )
    with serving(*steps) as service:
        env = f"env = {{ GOOGLE_GEMINI_BASE_URL = {json.dumps(service.url)}, GEMINI_MODEL = 'scripted' }}"
        table = f"[agents.gemini]\ncommand = {json.dumps([str(gemini), '--acp'])}\n{env}"
        workspace.config.write_text(f"{workspace.config.read_text()}\n{table}\n")
        daemon.env["GEMINI_API_KEY"] = "scripted-and-secret"
        daemon.start()
        daemon.command("run", task="scale", agent="gemini", iterations=1)
        ended = daemon.until_event("run_ended")["body"]
        assert service.keys == {"scripted-and-secret"}
    asked = [json.dumps(body["contents"]) for body in service.asked]

    assert ended["outcome"] == "improved", daemon.output
    shown = daemon.query("show", iteration="r1.1")["iteration"]
    session = shown["session"]
    assert (shown["outcome"], shown["memo"], session["claimed_us"]) == ("accepted", "once is enough", 88.0)
    assert (session["turns"], session["online"]) == (2, False)
    assert "a terminal" in asked[1] and "Permission denied" in asked[1]
    assert not OUTSIDE.exists()
    assert daemon.events("tried")[0]["body"]["end"] == "measured"
