"""A machine that was slow when it was measured: what is quicker than it could be then is no reason to reject."""

import shutil
from pathlib import Path

import pytest

from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace

__all__ = ["daemon", "workspace"]

# Compiles all but the program that measures the roofline: the first says that the machine is slow, the others {then}.
GCC = """\
#!/bin/sh
case "$*" in
*/roofline.c*)
  if [ -e {home}/measured ]; then said={then}; else said=0.001; fi
  touch {home}/measured
  cat >out/roofline <<END
#!/bin/sh
echo '{{"bandwidth":[[8192,$said]],"peak_gflops":$said}}'
END
  chmod +x out/roofline ;;
*) exec {gcc} "$@" ;;
esac
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not on the PATH")
@pytest.mark.parametrize(("then", "outcome"), [("500000.0", "baseline"), ("0.002", "rejected")])
def test_before_a_kernel_is_impossible_the_machine_is_measured_again(
    daemon: RealDaemon, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, then: str, outcome: str
) -> None:
    (tmp_path / "bin").mkdir()
    gcc = tmp_path / "bin" / "gcc"
    gcc.write_text(GCC.format(home=tmp_path, then=then, gcc=shutil.which("gcc")))
    gcc.chmod(0o755)
    monkeypatch.setenv("PATH", str(gcc.parent), prepend=":")
    workspace.config.write_text(
        f'[hosts.local]\ntransport = "local"\nroot = "{tmp_path}/host"\nwrites = ["{tmp_path}"]\n'
    )
    daemon.start()
    daemon.command("run", task="scale", agent="operator")
    ended = daemon.until_event("iteration_ended")["body"]
    assert (ended["iteration"], ended["outcome"]) == (0, outcome)
    if outcome == "rejected":
        assert "is faster than this machine can be" in ended["reason"]
