"""One run of a foreign command: what it printed, and that nothing of it stays."""

import sys
import time
from pathlib import Path

import pytest

from kpd.imports.probe import run_once

PYTHON = sys.executable
LEAVES = """\
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        with open(sys.argv[1], "w") as told:
            told.write(str(os.getpid()))
        time.sleep(60)
    os._exit(0)
while not os.path.exists(sys.argv[1]) or not open(sys.argv[1]).read():
    time.sleep(0.01)
time.sleep(float(sys.argv[2]))
"""


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hands orphans to the one who started them")
@pytest.mark.parametrize(("sleeps", "rc"), [(0, 0), (30, None)])
def test_nothing_outlives_the_run_even_in_a_session_of_its_own(tmp_path: Path, sleeps: int, rc: int | None) -> None:
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "leaves.py").write_text(LEAVES)
    pid = tmp_path / "pid"
    found = run_once(tmp_path / "task", f"{PYTHON} leaves.py {pid} {sleeps}", 1.5)
    assert found.rc == rc
    deadline = time.monotonic() + 2
    while (alive := runs(int(pid.read_text()))) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not alive


def test_a_run_in_a_copy(tmp_path: Path) -> None:
    command = 'read x; echo "$PWD: $x"; ls; echo oops >&2; touch new; kill -TERM $$'
    found = run_once(tmp_path, command, 20, ("results/a",))
    assert (found.rc, found.tail, found.command) == (-15, "oops", command)
    assert found.stdout.endswith("/task: \nresults\n")
    assert list(tmp_path.iterdir()) == []
