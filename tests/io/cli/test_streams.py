"""Streams that are closed or full: the exit code says what it says otherwise, and no word of Python's comes out."""

import subprocess
import sys
from pathlib import Path

from tests.places import ROOT
from tests.support.cli.pipes import Shell, shell

__all__ = ["shell"]


def test_init_makes_the_workspace_whoever_hears_of_it(shell: Shell, tmp_path: Path) -> None:
    done = shell("init ../new >&-")
    assert done.returncode == 3
    assert "a workspace: " in done.stderr and "stdout: it is closed" in done.stderr
    assert (tmp_path / "new" / "config.toml").exists()
    assert shell("init ../other >&- 2>&-").returncode == 3
    assert (tmp_path / "other" / "config.toml").exists()


def test_a_closed_stderr_leaves_the_exit_code_and_what_is_printed(shell: Shell) -> None:
    assert shell("nosuch 2>&-").returncode == 64
    assert shell("pause 2>&-").returncode == 3
    assert shell("pause >&- 2>&- <&-").returncode == 3
    done = shell("queue --json 2>&-")
    assert (done.returncode, done.stdout[:1]) == (0, "{")


def test_no_file_of_kpd_s_gets_the_number_of_a_closed_stream(tmp_path: Path) -> None:
    code = "import os; from kpd.cli.main import open_missing; open_missing(); n = os.open('/', 0)"
    code += "; open('n', 'w').write(str(n))"
    command = f'PYTHONPATH={ROOT} {sys.executable} -c "{code}" <&- >&- 2>&-'
    assert subprocess.run(["bash", "-c", command], cwd=tmp_path).returncode == 0
    assert int((tmp_path / "n").read_text()) > 2
