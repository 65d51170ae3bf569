"""Programs of a test's own that a probe finds on PATH."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

HELPER = {
    "system": "Linux", "release": "6.1", "machine": "aarch64", "python": "3.6.8",
    "cpus": [2, 3, 7], "pinning": True, "disk_free": 5, "clock": 1.5,
    "confinement": {"landlock": 7, "bubblewrap": False, "filtered": True},
}  # fmt: skip
Install = Callable[[str, str], Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a shell script on the PATH, in front of everything else, or in the folder that is named."""

    def put(name: str, script: str) -> Path:
        path = tmp_path / "bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return put


def prints(text: str) -> str:
    return f"cat <<'THIS'\n{text}\nTHIS"
