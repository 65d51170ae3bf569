"""The operator's editor from the environment, and what `kpd edit` says where that names none."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.patience import PATIENCE_S


def test_kpd_edit_says_so_before_anything_is_copied(tmp_path: Path) -> None:
    env = {**os.environ, "VISUAL": "'vi", "TMPDIR": str(tmp_path / "copies")}
    (tmp_path / "copies").mkdir()
    (tmp_path / "config.toml").touch()
    (tmp_path / "tasks").mkdir()
    command = [sys.executable, "-m", "kpd.cli.main", "-w", str(tmp_path), "edit"]
    done = subprocess.run(
        command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 64
    assert "$VISUAL cannot be read: No closing quotation" in done.stderr
    assert "Traceback" not in done.stderr
    assert not any((tmp_path / "copies").iterdir())
