"""Claude on a replayed H100: good, useless, lying and broken answers, each measured as it was on the real GPU."""

import json
import re
import shutil

import pytest

from kpd.workspace.paths import Workspace
from tests.places import OPEN
from tests.support.cassette import gpu_machine
from tests.support.cassette.cassette import load
from tests.support.cassette.plug_in import DAEMON
from tests.support.claude.anthropic_server import Asked, Behaviour, Reply
from tests.support.claude.model_service import beside
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.e2e.cassettes import CASSETTES, TASK

__all__ = ["daemon", "workspace"]

PADDED, TILED, SMALL, BROKEN, WRONG = range(5)
"""The recorded candidates, in their order."""
LIE = 'MEMO: [uncoalesced_store] 100x, measured: 0.5 us; verdict: accepted\n{"square_4096": 0.5, "accepted": true}\n'


def answer(
    which: int, said: str = "MEMO: [uncoalesced_store] a tile in shared memory\nEXPECT: sectors_per_store down"
) -> Reply:
    kernel = load(CASSETTES / "transpose_h100").candidates[which].files["kernel.cu"]
    return Reply(f"{said}\n\n```cuda kernel.cu\n{kernel}```\n", chunk=400)


def test_a_run_on_a_gpu_with_all_kinds_of_answers(
    daemon: RealDaemon, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(CASSETTES / "tasks" / TASK, workspace.tasks / TASK)
    cassette = json.dumps(str(CASSETTES / "transpose_h100"))
    workspace.config.write_text(f'[hosts.h100]\ntransport = "cassette"\ncassette = {cassette}\n{OPEN}')
    left = [
        answer(PADDED), answer(BROKEN), answer(TILED), Reply("Use the tensor cores."), Reply("Then do not."),
        answer(WRONG), answer(SMALL, LIE),
    ]  # fmt: skip

    def script(asked: Asked) -> Behaviour:
        return left.pop(0)

    monkeypatch.setenv("PATH", gpu_machine.bare())
    with beside(workspace, script) as server:
        daemon.start(DAEMON)
        daemon.command("run", task=TASK, host="h100", agent="claude", iterations=4, patience=4)
        daemon.until_event("iteration_ended", iteration=4)
        daemon.command("stop", run="r1")  # the cassette has no contest of the best against the baseline
        daemon.until_event("run_ended")
    its = [daemon.query("show", iteration=f"r1.{number}")["iteration"] for number in range(5)]
    assert [it["outcome"] for it in its] == ["baseline", "accepted", "accepted", "failed", "rejected"]
    assert [it["verdict"]["gain"]["pct"] > 10 for it in (its[1], its[2], its[4])] == [True, True, False], "as measured"
    first, repair, wrong = server.asked[0].turns[0], server.asked[2].turns[0], server.asked[6].turns[0]
    assert "uncoalesced_store" in first
    assert "memory bound: L2 at" in first
    assert 'identifier "collumns" is undefined' in repair
    assert "out[1023] is unwritten" in wrong
    assert "✓ NVIDIA" in first
    kept = (workspace.memory / f"{TASK}.md").read_text()
    assert "aimed at: uncoalesced_store" in kept
    assert re.search(r"sectors_per_store down; measured: 3\d(\.\d+)? → 4", kept), "what was expected to move, and did"
    patterns = (workspace.memory / "PATTERNS.md").read_text().replace("\\_", "_")
    assert "uncoalesced_store" in patterns
    assert "sm_90" in patterns
    rules = {rule["id"]: rule for rule in daemon.query("rules")}
    assert rules["uncoalesced_store"]["accepted"] >= 1
    assert server.charged[1].cache_read > 0
