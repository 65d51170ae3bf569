"""A queue that is held after a crash, and a checkout in which much was run."""

import json
import os
import shutil
import sys
from pathlib import Path

from tests.places import ROOT
from tests.support.cli.shell import Shell, here, runtime
from tests.support.patience import PATIENCE_S

__all__ = ["here", "runtime"]

GENERATED = (".*", "__pycache__", "workspace", "runs", "dist", "config.toml")
"""What a checkout may hold at its top that is not of the project."""


def test_a_held_queue_is_told_by_a_run_and_not_waited_for(here: Shell) -> None:
    here.kpd("run", "transpose_cpu")
    pid = json.loads(here.kpd("status", "--json").stdout)["pid"]
    os.kill(pid, 9)
    waited = here.kpd("run", "rmsnorm_silu_cpu", "--wait")
    assert (waited.returncode, waited.stdout) == (3, "r2\n")
    assert "the queue is held: the daemon crashed or was killed " in waited.stderr
    assert "; r2 stays queued, and begins in its turn after kpd resume" in waited.stderr
    queued = here.kpd("run", "rmsnorm_silu_cpu")
    assert (queued.returncode, queued.stdout) == (0, "r3\n")
    assert "kpd resume releases it" in queued.stderr


def test_a_checkout_stays_clean_whatever_was_run_in_it(tmp_path: Path, runtime: str) -> None:
    checkout = tmp_path / "kpd"
    shutil.copytree(ROOT, checkout, ignore=lambda folder, names: _generated(folder, names))
    shutil.copy(ROOT / ".gitignore", checkout)
    shell = Shell(checkout, runtime, checkout)
    for command in (("init", "-q"), ("add", "."), ("-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "t")):
        assert shell("git", *command).returncode == 0
    try:
        assert _first_gain(shell) == "r1"
        kernel = "tasks/rmsnorm_silu_cpu/build.json"
        assert (checkout / "workspace" / kernel).read_bytes() != (checkout / kernel).read_bytes()
        assert (checkout / "workspace" / "memory" / "rmsnorm_silu_cpu.md").exists()
        _clean(shell)
        _demo(shell)
        _clean(shell)
        tests = shell(
            sys.executable,
            "-m",
            "pytest",
            "-n",
            "0",
            "-p",
            "no:cacheprovider",
            "tests/unit/workspace/test_paths.py",
            "tests/unit/measure/test_judge_verdict.py",
        )
        assert tests.returncode == 0, tests.stdout[-2000:]
        _clean(shell)
        shutil.rmtree(checkout / "workspace")
        assert _first_gain(shell) == "r1", "and shows the gain again"
        _clean(shell)
    finally:
        shell.kpd("shutdown", "--now")


def _generated(folder: str, names: list[str]) -> set[str]:
    found = set(shutil.ignore_patterns("__pycache__")(folder, names))
    return found | set(shutil.ignore_patterns(*GENERATED)(folder, names)) if Path(folder) == ROOT else found


def _first_gain(shell: Shell) -> str:
    """The id of a run of the example, once one of its iterations was accepted and its daemon has ended."""
    done = shell.kpd("run", "tasks/rmsnorm_silu_cpu", "--wait", "--iterations", "3")
    assert done.returncode == 0, done.stderr  # it has won something
    assert shell.kpd("shutdown").returncode == 0
    return done.stdout.strip()


def _demo(shell: Shell) -> None:
    demo = shell.popen(sys.executable, "-m", "kpd.cli.main", "demo", "--headless", "--speed", "64")
    assert demo.stdout is not None
    where = Path(demo.stdout.readline().strip())
    assert where.is_dir()
    demo.terminate()
    demo.communicate(timeout=PATIENCE_S)
    assert not where.exists()


def _clean(shell: Shell) -> None:
    assert shell("git", "status", "--porcelain", "--untracked-files=all").stdout == ""
