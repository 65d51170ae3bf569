"""kpd doctor: the workspace and this machine as they are, hosts that are not there, a daemon that is asked."""

import os
import subprocess
import sys

import pytest

from kpd.workspace.paths import Workspace
from tests.places import ROOT
from tests.support.cli.workspaces import ws
from tests.support.patience import PATIENCE_S

__all__ = ["ws"]


READ_ONLY = (
    'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && cd / && exec "$2" -m kpd.cli.main -w "$1" doctor'
)


@pytest.mark.parametrize(
    ("served", "state", "hosts"),
    [
        (False, "cannot create {}: Read-only file system", "✗ hosts         none was looked at: cannot create {}"),
        (True, "{} is not writable: Read-only file system", "✗ link          [Errno 30] Read-only file system"),
    ],
)
def test_a_workspace_that_cannot_be_written_is_one_check_of_several(
    ws: Workspace, served: bool, state: str, hosts: str
) -> None:
    own = ["unshare", "--map-root-user", "--mount"]
    if sys.platform != "linux" or subprocess.run([*own, "true"], check=False).returncode:
        pytest.skip("needs unshare --mount (Linux with user namespaces) for a read-only mount")
    if served:
        ws.make_private()
    done = subprocess.run(
        [*own, "bash", "-c", READ_ONLY, "doctor", str(ws.root), sys.executable],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=PATIENCE_S,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (3 if served else 1, "")
    lines = done.stdout.splitlines()
    at = lines.index(f"  ✗ state         {state.format(ws.private)}")
    assert lines[at + 1].startswith(f"{' ' * 18}→ ")
    assert "  ✓ config.toml   1 host: local" in lines
    assert "  – daemon        none runs; kpd start starts one" in lines
    assert any(line.startswith(f"  {hosts.format(ws.private)}") for line in lines[at:])
    assert lines[-1].endswith(" to correct")
