"""A machine that passes for one with a GPU: the stand-in for nvcc, and scripts that answer as nvidia-smi and ncu do."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from kpd.workspace.paths import Workspace
from tests.places import DATA, READS, ROOT
from tests.support import cuda_standin
from tests.support.daemon.real_daemon import set_local

REPORT = DATA / "ncu" / "baseline.ncu-rep.xz"
UUID = "GPU-676fe257-081c-a0b9-f335-5b2ab9f950db"
OTHER = "GPU-11111111-2222-3333-4444-555555555555"
NAME = "NVIDIA H100 80GB HBM3"
SECRET = "an-unknown-name"
"""Who records, and the name of the folder that is his home; as long as what it replaces in the report."""

_SMI = f"""#!/bin/sh
case "$1" in
  --query-compute-apps=*) exit 0 ;;
  --query-gpu=*)
    echo '0, {UUID}, 00000000:00:06.0, {NAME}, 9.0, 81559, 580.159.04, Enabled, Disabled'
    echo '1, {OTHER}, 00000000:00:07.0, {NAME}, 9.0, 81559, 580.159.04, Enabled, Disabled' ;;
  *) echo "nvidia-smi does not know $1" >&2; exit 6 ;;
esac
"""
_NVCC = f"""#!/bin/sh
if [ "$1" = --version ]; then
  echo 'nvcc: NVIDIA (R) Cuda compiler driver'; echo 'Cuda compilation tools, release 13.0, V13.0.88'; exit
fi
exec '{sys.executable}' '{cuda_standin.BIN}/nvcc' "$@"
"""
_NCU = f"""#!{sys.executable}
import lzma, os, subprocess, sys
words = sys.argv[1:]
if words == ["--version"]:
    print("NVIDIA (R) Nsight Compute Command Line Profiler\\nVersion 2025.3.1.0 (build 36398880) (public-release)")
elif "--import" in words:
    print("the pages of", open(words[words.index("--import") + 1], "rb").read()[-40:], "for", words[-1])
else:
    at = next(at for at, word in enumerate(words) if "/jobs/" in word or ".real/" in word)
    print(f"==PROF== Connected to process 77 ({{os.environ['HOME']}}/{{words[at].rpartition('/')[2]}})", flush=True)
    status = subprocess.run(words[at:]).returncode
    if status:
        sys.exit(status)
    if "-o" in words:
        report = lzma.open({str(REPORT)!r}).read().replace(b"/tmp/kpd-gpu-2ilnfwt0", b"/home/{SECRET}")
        open(words[words.index("-o") + 1] + ".ncu-rep", "wb").write(report)
    else:
        print('"ID","Metric Name","Metric Value"\\n"0","smsp__inst_executed.sum","9"')
"""


def let_read(workspace: Workspace) -> None:
    """Let sandboxed jobs of the local host read what the stand-ins are made of."""
    set_local(workspace, reads=READS)


def machine(folder: Path, without: str = "") -> dict[str, str]:
    """The environment of that machine, whose programs lie in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("nvidia-smi", _SMI), ("nvcc", _NVCC), ("ncu", _NCU)):
        if name != without:
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
    (folder / SECRET).mkdir(exist_ok=True)
    return {**os.environ, "PATH": f"{folder}:{bare()}", "HOME": str(folder / SECRET), "LOGNAME": SECRET}


def bare() -> str:
    """A PATH with none of those programs."""
    return "/usr/bin:/bin"


def record(task: Path, out: Path, folder: Path, candidates: Mapping[str, Mapping[str, str]]) -> str:
    """Record these candidates, by name their files, with benchmarks/record_gpu.py. What it printed.

    The run's workspace stays in `folder/kept/workspace`.
    """
    command = [sys.executable, str(ROOT / "benchmarks" / "record_gpu.py"), str(task), str(out), "--cuda-home", "/none"]
    command += ["--workspace", str(folder / "kept")]
    for name, files in candidates.items():
        given = folder / "given" / name
        given.mkdir(parents=True)
        for path, text in files.items():
            (given / path).write_text(text)
        command += ["--files", str(given)]
    env = {**machine(folder / "bin"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
