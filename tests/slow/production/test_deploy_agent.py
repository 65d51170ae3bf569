"""A build that breaks after the integration is mended by the real Claude Code, from npm, against a scripted service."""

import json
import os
import subprocess
import sys
from pathlib import Path

from kpd.claude.purse import calls_beside
from kpd.production.deploy.fixing import fenced
from kpd.workspace.deployments import DeploymentJournal
from tests.support.patience import PATIENCE_S
from tests.support.production.recorded import with_program
from tests.support.production.sleepers import FAST, content
from tests.support.sessions.claude_service import serving
from tests.support.sessions.npm_agents import claude_code

__all__ = ["claude_code"]
KEY = "secret-that-must-not-leak"


def test_the_second_answer_of_the_agent_builds_and_stays(tmp_path: Path, claude_code: Path) -> None:
    broken = FAST.replace("2 * x", "2 * broken(x)")
    ws, root = with_program(tmp_path, fixer="claude-code", fast=broken, approve=False)
    answers = (fenced(broken.replace("2 *", "3 *")), f"I have read it.\n\n{fenced(FAST)}")
    with serving(*answers) as service:
        env = f"env = {{ ANTHROPIC_BASE_URL = {json.dumps(service.url)} }}"
        table = f"\n[agents.claude-code]\ncommand = {json.dumps([str(claude_code)])}\n{env}\n"
        ws.config.write_text(ws.config.read_text() + table)
        ended = subprocess.run(
            [sys.executable, "-m", "kpd.cli.main", "-w", str(ws.root), "project", "deploy", "p", "r1"],
            env={**os.environ, "HOME": str(tmp_path / "home"), "ANTHROPIC_API_KEY": KEY},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S,
        )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("DEPLOYED p #1: r1, iteration 13\n")
    assert content(root)[0] == FAST
    [one] = DeploymentJournal(ws.deployments / "p").all()
    assert (one.fixes, one.spend.calls) == ({"compile": 2}, 2)
    assert [(call.purpose, call.model, call.of) for call in calls_beside(ws.root)] == [
        ("fix", "claude-code", "deployment 1 of p")
    ] * 2
    asked = [json.dumps(body["messages"]) for body in service.asked]
    assert "it ends with 3" in asked[0] and "2 * broken(x)" in asked[0]
    assert "3 * broken(x)" in asked[1]
    assert service.keys == {KEY}
    assert KEY not in ended.stdout + ended.stderr
