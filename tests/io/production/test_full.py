"""A full disk and a read-only root end a change before it begins, and the error names the place."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.production.provers import FarSide, content, made

READ_ONLY = "mount --bind {root} {root} && mount -o remount,ro,bind {root}"
FULL = "mount -t tmpfs -o size=64k tmpfs {places}"
can_mount = subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode == 0
pytestmark = pytest.mark.skipif(not can_mount, reason="this user may not mount")


@pytest.mark.parametrize(
    ("setup", "op", "kind", "where"),
    [
        (FULL, "begin", "no_space", "places/"),
        (READ_ONLY, "begin", "host", "Read-only file system: '{root}/target/"),
        (READ_ONLY, "look", "host", "Read-only file system: '{root}/target/"),
    ],
)
def test_nothing_begins_where_nothing_can_be_written(
    setup: str, op: str, kind: str, where: str, tmp_path: Path
) -> None:
    root = tmp_path / "prover"
    project = made(root, source=b"x" * 200_000)
    far, before = FarSide(project, tmp_path), content(root)
    far.places.mkdir()
    of = {"begin": {"id": "a", "build_dir": "target", "holder": "a test", "purpose": "to see", "lease_s": 5.0}}
    given: dict[str, Any] = of.get(op, {"context": (), "kernel": "twice"})
    asked = json.dumps(
        {"root": str(root), "places": str(far.places), "files": project.files, "binary": project.binary, **given}
    )
    script = f'{setup.format(root=root, places=far.places)} && exec "$@"'
    command = [
        "unshare",
        "-rm",
        "sh",
        "-c",
        script,
        "sh",
        sys.executable,
        "-I",
        "-S",
        "-B",
        str(far.program),
        op,
        asked,
    ]
    error = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["error"]
    assert error["kind"] == kind and where.format(root=root) in error["message"]
    assert content(root) == before and not (far.places / "change.json").exists()
