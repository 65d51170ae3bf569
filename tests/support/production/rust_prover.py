"""The Rust example as a project of a workspace, on a machine that passes for one with a GPU."""

import json
import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from kpd.workspace.paths import Workspace
from tests.places import READS, ROOT
from tests.support.cassette import gpu_machine
from tests.support.daemon.real_daemon import set_local
from tests.support.measure.cuda_measured import ROOFLINE_ONLY
from tests.support.patience import PATIENCE_S
from tests.support.production.transposing import BODY, SLOW

CARGO = shutil.which("cargo") or ""
HOME = os.environ.get("HOME", "")
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
