"""`perf stat` output as several machines write it, and the script that asks for it, run by a real shell."""

import shutil
import subprocess
from pathlib import Path

from kpd.profile import counters
from tests.support.patience import PATIENCE_S


def test_the_script_runs_and_accounts_for_every_counter(tmp_path: Path) -> None:
    """Whatever this machine allows: each counter is a number or has a reason."""
    text = counters.script(lambda calls: f"sh -c 'i=0; while [ $i -lt {100 * calls} ]; do i=$((i+1)); done'")
    ran = subprocess.run(["/bin/sh", "-c", text], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S)
    assert ran.returncode == 0, ran.stderr
    metrics, missing = counters.read(ran.stdout, ran.stderr)
    assert set(metrics) | set(missing) == {*counters.WAYS, "machine_vector_bits"}
    assert all(missing.values())


def test_a_host_without_perf_and_a_program_that_fails(tmp_path: Path) -> None:
    sh = shutil.which("sh")
    assert sh
    (tmp_path / "bin").mkdir()
    for tool in ("grep", "tail", "cat", "sh"):
        found = shutil.which(tool)
        assert found
        (tmp_path / "bin" / tool).symlink_to(found)

    def run(text: str) -> dict[str, str]:
        ran = subprocess.run(
            [sh, "-c", text],
            cwd=tmp_path,
            env={"PATH": str(tmp_path / "bin")},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert ran.returncode == 0
        return counters.read(ran.stdout, ran.stderr)[1]

    assert "not installed" in run(counters.script(lambda _: "true"))["ipc"]
    (tmp_path / "bin" / "perf").write_text("#!/bin/sh\necho 'the kernel crashed'\nexit 139\n")
    (tmp_path / "bin" / "perf").chmod(0o755)
    assert "the kernel crashed" in run(counters.script(lambda _: "true"))["ipc"]
