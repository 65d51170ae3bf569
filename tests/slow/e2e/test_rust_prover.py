"""A Rust program with CUDA in it, from its check to a deployed kernel, on a machine that passes for one with a GPU."""

import asyncio
import json
from pathlib import Path

import pytest

from kpd.cli.main import main
from kpd.cli.waiting import wait_for
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.production.rust_prover import CARGO, answer, prover
from tests.support.production.transposing import BODY, HARNESS, LAUNCHES, SLOW, WRONG

__all__ = ["daemon", "prover", "workspace"]
pytestmark = pytest.mark.skipif(not CARGO, reason="needs cargo")


def test_from_the_check_to_a_deployed_kernel(
    prover: Path, daemon: RealDaemon, workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    def kpd(*args: str) -> tuple[int, str, str]:

        code = main(["-w", str(workspace.root), *args])
        said = capsys.readouterr()
        return code, said.out, said.err

    source, binary = prover / "gpu" / "transpose.cu", prover / "target" / "release" / "prover"
    code, told, said = kpd("project", "check", "prover", "--normalise")
    assert binary.exists(), told + said
    code, _, said = kpd("project", "observe", "prover")
    assert (code, "no process of the program left a record" in said) == (1, True), said  # a stand-in has no driver
    table = prover.with_name("launches.json")
    table.write_text(json.dumps({"kernel": "transpose_kernel", "captured_at": "2026-11-26", "launches": LAUNCHES}))
    daemon.start()

    preparing = ["project", "run", "prover", "--mailbox", "--top", "2", "--observed", str(table)]
    operated = ("--agent", "operator", "--iterations", "1")
    code, _, said = kpd(*preparing, "--agent", "nobody")
    assert (code, "no agent 'nobody'" in said) == (64, True), said
    answering = answer(workspace.root / "onboarding" / "prover", WRONG, HARNESS)
    assert kpd(*preparing, *operated)[:2] == (0, "r1\n")
    made = daemon.until_event("phase_ended", run="r1", phase="task")["body"]
    answering.join()
    assert made["text"] == "made prover", made
    assert kpd("stop", "r1")[0] == 0
    said = (workspace.root / "refs" / "prover.r1.task.output").read_text()
    assert "the kernel differs from the oracle: odd, normal: out[0] is" in said
    task = workspace.tasks / "prover"
    assert "µs in production: PROBLEM, a factor of" in (task / "task.md").read_text() or "It was not timed" in said
    assert "[cases.top1]\nweight = 0.6667" in (task / "task.toml").read_text()

    toml = task / "task.toml"
    toml.write_text(toml.read_text().replace("quads = 20", "quads = 4") + "\n[budget]\npatience = 3\n")
    assert kpd(*preparing, *operated)[:2] == (0, "r2\n")
    assert daemon.until_event("phase_ended", run="r2", phase="task")["body"]["text"] == "prover has it"
    assert kpd(*preparing, *operated)[:2] == (0, "r2\n"), "it goes on, and no other one is queued"
    daemon.until_event("folder_known", run="r2")
    budget = daemon.query("status")["runs"]["r2"]["budget"]
    assert (budget["iterations"], budget["patience"]) == (1, 3), "the operator's, and the task's"
    kernel = task / "transpose_kernel.cu"
    kernel.write_text(kernel.read_text().replace(SLOW, BODY))
    better = daemon.until_event("iteration_ended", run="r2", iteration=1)["body"]
    assert better["outcome"] == "accepted", better["reason"]

    before = binary.read_bytes()
    daemon.until(lambda: any(one["waits"] for one in daemon.query("status")["deployments"]), "the change to wait")
    assert kpd(*preparing, *operated)[:2] == (0, "r2\n"), "its deployment goes on"
    assert kpd("project", "approve", "prover", "--yes")[0] == 0
    assert asyncio.run(wait_for(workspace, "r2")) == 0
    assert "DEPLOYED prover #1, r2.1" in capsys.readouterr().err
    assert list(daemon.query("status")["runs"]) == ["r1", "r2"]
    assert BODY in source.read_text() and SLOW not in source.read_text()
    assert source.read_text().startswith("// Columns of a trace")
    assert binary.read_bytes() != before

    assert kpd("project", "watch", "prover")[0] == 0
    source.write_text(source.read_text() + "// somebody's\n")
    code, told, _ = kpd("project", "watch", "prover")
    assert (code, "! gpu/transpose.cu was changed since" in told) == (1, True)
    assert "kpd project rollback prover 1 puts back" in told
