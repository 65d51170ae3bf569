"""A Rust program with CUDA in it, from its check to a deployed kernel, on a machine that passes for one with a GPU."""

import asyncio
import json
import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from kpd.cli.main import main
from kpd.cli.waiting import wait_for
from kpd.workspace.paths import Workspace
from tests.places import READS, ROOT
from tests.support.cassette import gpu_machine
from tests.support.daemon.real_daemon import RealDaemon, daemon, set_local, workspace
from tests.support.measure.cuda_measured import ROOFLINE_ONLY
from tests.support.patience import PATIENCE_S
from tests.support.production.transposing import BODY, HARNESS, LAUNCHES, SLOW, WRONG

__all__ = ["daemon", "workspace"]
CARGO = shutil.which("cargo") or ""
HOME = os.environ.get("HOME", "")
pytestmark = pytest.mark.skipif(not CARGO, reason="needs cargo")

JOB = "rows 64\nwidth 64\nproofs 60\nseed 7\nsecure 0\n"


@pytest.fixture
def prover(tmp_path: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example with a slow kernel and a small job, as a project of the workspace."""
    made = gpu_machine.machine(tmp_path / "real", without="ncu")
    limits = tmp_path / "bin"
    limits.mkdir()
    (limits / "nvcc").write_text(ROOFLINE_ONLY.format(nvcc=tmp_path / "real" / "nvcc"))
    (limits / "nvcc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{limits}{os.pathsep}{made['PATH']}{os.pathsep}{Path(CARGO).parent}")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    leases = tmp_path / "leases"  # of its own: nothing here depends on how long something took
    leases.mkdir()
    root = tmp_path / "prover"
    shutil.copytree(ROOT / "examples" / "rust-prover", root, ignore=shutil.ignore_patterns("target"))
    (root / "jobs" / "small.job").write_text(JOB)
    kernel = root / "gpu" / "transpose.cu"
    kernel.write_text(kernel.read_text().replace(BODY, SLOW))
    table = (root / "README.md").read_text().partition("```toml\n")[2].partition("```")[0].replace("HERE", str(root))
    homes = {f"{name}_HOME": os.environ.get(f"{name}_HOME", f"{HOME}/.{name.lower()}") for name in ("CARGO", "RUSTUP")}
    env = {**homes, "PATH": os.environ["PATH"], "CARGO_PROFILE_RELEASE_OPT_LEVEL": "0"}  # builds sooner
    words = ", ".join(f"{name} = {json.dumps(value)}" for name, value in env.items())
    set_local(workspace, reads=READS, leases=str(leases))
    with workspace.config.open("a") as config:
        config.write(f"\n{table}env = {{ {words} }}\n")
    return root


def answer(folder: Path, *texts: str) -> threading.Thread:
    """Answer one prompt after the other in a mailbox."""

    def answering() -> None:
        prompt, last = folder / "prompt.md", ""
        end = time.monotonic() + PATIENCE_S
        for text in texts:
            while not prompt.exists() or prompt.read_text() == last:
                if time.monotonic() > end:
                    return
                time.sleep(0.05)
            last = prompt.read_text()
            (folder / "reply.md").write_text(f"```cuda\n{text}```\n")

    thread = threading.Thread(target=answering)
    thread.start()
    return thread


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
