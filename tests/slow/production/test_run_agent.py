"""`kpd project run` with the real Claude Code, from npm, as writer and fixer: the daemon gives it its key, and counts.

The service behind it is a script, and the machine passes for one with a GPU.
"""

import asyncio
import json
import os
import shutil
from pathlib import Path

import pytest

from kpd.claude.purse import calls_beside
from kpd.cli.main import main
from kpd.cli.waiting import wait_for
from kpd.production.deploy.fixing import fenced
from kpd.workspace.deployments import DeploymentJournal
from kpd.workspace.paths import Workspace
from tests.places import OPEN, ROOT
from tests.support.cassette import gpu_machine
from tests.support.daemon.real_daemon import RealDaemon
from tests.support.measure.cuda_measured import ROOFLINE_ONLY
from tests.support.production.transposing import BODY, HARNESS, LAUNCHES, SLOW, WRONG
from tests.support.sessions.claude_service import serving
from tests.support.sessions.npm_agents import claude_code

__all__ = ["claude_code"]
KEY = "secret-that-must-not-leak"
MAIN = """\
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
extern "C" int prover_transpose(const uint32_t *in, uint32_t *out, int rows, int cols);
int main(int argc, char **argv) {
    static uint32_t host[64 * 64];
    for (int i = 0; i < 64 * 64; i++) host[i] = i * 2654435761u;
    uint32_t *in, *out;
    cudaMalloc(&in, sizeof host);
    cudaMalloc(&out, sizeof host);
    for (int turn = 0; turn < 40; turn++) {
        cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
        if (prover_transpose(in, out, 64, 64)) return 4;
        cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    }
    FILE *file = fopen(argv[1], "wb");
    return fwrite(host, sizeof host, 1, file) != 1 || fclose(file);
}
"""
REFUSED = "// TODO: vectors\n        "
"""In a kernel, what the project's build refuses, and the task's does not."""
BUILD = (
    "if grep -q TODO gpu/transpose.cu; then echo 'gpu/transpose.cu: a TODO is left' >&2; exit 3; fi; "
    "nvcc -O2 -DPROVER_FIELD=7u -Igpu gpu/transpose.cu main.cu -o target/new && mv target/new target/program"
)


def test_the_agent_writes_the_harness_and_mends_the_file_that_the_build_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], claude_code: Path
) -> None:
    node = Path(shutil.which("node") or "").parent
    made = gpu_machine.machine(tmp_path / "real", without="ncu")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "nvcc").write_text(ROOFLINE_ONLY.format(nvcc=tmp_path / "real" / "nvcc"))
    (tmp_path / "bin" / "nvcc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{made['PATH']}{os.pathsep}{node}")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    root, source = tmp_path / "program", tmp_path / "program" / "gpu" / "transpose.cu"
    (root / "target").mkdir(parents=True)
    (tmp_path / "leases").mkdir()
    shutil.copytree(ROOT / "examples" / "rust-prover" / "gpu", root / "gpu")
    (root / "main.cu").write_text(MAIN)
    production = source.read_text().replace(BODY, SLOW)
    source.write_text(production)
    mended = production.replace(SLOW, BODY)
    table = tmp_path / "launches.json"
    table.write_text(json.dumps({"kernel": "transpose_kernel", "captured_at": "2026-11-27", "launches": LAUNCHES}))
    ws = Workspace(tmp_path / "ws")
    ws.tasks.mkdir(parents=True)
    daemon = RealDaemon(ws)
    daemon.env = {"ANTHROPIC_API_KEY": KEY}

    def kpd(*words: str) -> tuple[int, str, str]:
        code = main(["-w", str(ws.root), *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    answers = (f"```cuda\n{WRONG}```\n", f"I have looked.\n\n```cuda\n{HARNESS}```\n", fenced(mended))
    with serving(*answers) as service:
        ws.config.write_text(
            f'[hosts.local]\n{OPEN}leases = "{tmp_path / "leases"}"\n[agents.claude-code]\n'
            f"command = {json.dumps([str(claude_code)])}\n"
            f"env = {{ ANTHROPIC_BASE_URL = {json.dumps(service.url)} }}\n"
            f'[project.p]\nhost = "local"\nroot = "{root}"\nfiles = ["gpu/transpose.cu"]\nbinary = ["target/program"]\n'
            f'build_dir = "target"\nbuild = {json.dumps(BUILD)}\nrun = "target/program target/out"\n'
            'kernel = "transpose_kernel"\noutputs = ["target/out"]\nflags = ["-Igpu", "-DPROVER_FIELD=7u"]\n'
            f'fixer = "claude-code"\napprove = false\nenv = {{ PATH = {json.dumps(os.environ["PATH"])} }}\n'
        )
        code, told, said = kpd("project", "check", "p", "--normalise")
        assert (root / "target" / "program").exists(), told + said
        daemon.start()
        try:
            words = ("--writer", "claude-code", "--agent", "operator", "--iterations", "1", "--observed", str(table))
            code, id, said = kpd("project", "run", "p", *words)
            assert (code, id) == (0, "r1\n"), said
            ended = daemon.until_event("phase_ended", run="r1", phase="task")["body"]
            assert ended["text"] == "made p", (ended, (ws.root / "refs" / "p.r1.task.output").read_text())
            assert ended["spend"]["harness"]["calls"] == 2, "the first harness is wrong"
            toml = ws.tasks / "p" / "task.toml"
            toml.write_text(toml.read_text().replace("quads = 20", "quads = 4"))
            daemon.until_event("folder_known", run="r1")
            kernel = ws.tasks / "p" / "transpose_kernel.cu"
            kernel.write_text(kernel.read_text().replace(SLOW, REFUSED + BODY))
            better = daemon.until_event("iteration_ended", run="r1", iteration=1)["body"]
            assert better["outcome"] == "accepted", better["reason"]
            assert asyncio.run(wait_for(ws, "r1")) == 0, (ws.deployments / "p" / "r1.output").read_text()
        finally:
            daemon.stop()
    [one] = DeploymentJournal(ws.deployments / "p").all()
    assert (one.state, one.fixes, one.spend.calls) == ("deployed", {"compile": 1}, 1)
    assert source.read_text() == mended
    calls = [(call.of, call.purpose, call.model) for call in calls_beside(ws.root)]
    assert calls == [
        ("r1 of p", "harness", "claude-code"), ("r1 of p", "harness", "claude-code"),
        ("deployment 1 of p", "fix", "claude-code"),
    ]  # fmt: skip
    asked = [json.dumps(body["messages"]) for body in service.asked]
    assert "the kernel differs from the oracle" in asked[1] and "a TODO is left" in asked[2]
    assert service.keys == {KEY}
