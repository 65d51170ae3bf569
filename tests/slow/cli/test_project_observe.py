"""kpd project observe, of a program that leaves the record which another one left on a GPU."""

import fcntl
import json
import subprocess
import sys
from pathlib import Path

import pytest

from kpd.cli.main import main
from kpd.onboarding.observed import read_table
from kpd.workspace.paths import Workspace
from tests.support.cli.places import ws
from tests.support.patience import PATIENCE_S
from tests.support.production.programs import needs_cupti
from tests.support.production.provers import made
from tests.support.production.records import OBSERVED

__all__ = ["ws"]
pytestmark = needs_cupti
RUN = f"echo ran >>runs; gunzip -c {OBSERVED}/all.record.gz >$KPD_OBSERVE_DIR/1.record"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    made(tmp_path / "prover", (OBSERVED / "launches.cu").read_bytes())
    return tmp_path / "prover"


def add(ws: Workspace, root: Path, kernel: str, run: str = RUN) -> None:
    assert kpd(
        ws, "add", "prover", "--host", "local", "--root", str(root), "--files", "src/kernel.c", "--binary",
        "target/prover", "--build-dir", "target", "--build", "true", "--run", run, "--kernel", kernel,
    ) == 0  # fmt: skip


def kpd(ws: Workspace, *args: str) -> int:
    return main(["-w", str(ws.root), "project", *args])


def test_the_launches_of_a_project_are_shown_and_kept_until_something_changes(
    ws: Workspace, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add(ws, root, "imaging::transpose")
    assert kpd(ws, "observe", "prover") == 0
    shown = capsys.readouterr()
    assert "3x2x1" in shown.out and "rows=64, cols=8192" in shown.out
    assert "12 launches, 12 recorded in full, 12 with a duration" in shown.out
    table = read_table(ws.root / "refs" / "prover.observed.json")
    assert [one.scalars["cols"] for one in table.launches[:2]] == [8192, 96]
    assert kpd(ws, "observe", "prover") == 0
    assert "is current" in capsys.readouterr().err
    (root / "src" / "kernel.c").write_bytes(b"// changed\n")
    assert kpd(ws, "observe", "prover", "--json") == 0
    assert json.loads(capsys.readouterr().out)["counted"] == 12
    assert (root / "runs").read_text() == "ran\n" * 2


def test_a_kernel_that_is_not_meant_surely_is_told_with_those_that_are(
    ws: Workspace, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add(ws, root, "scale")
    assert kpd(ws, "observe", "prover") == 1
    assert "2 kernels are called scale: scale<float, 4> (4), scale<double, 2> (1)" in capsys.readouterr().err
    assert kpd(ws, "observe", "prover", "--kernel", "scale<float, 4>") == 0
    assert kpd(ws, "observe", "prover", "--kernel", "absent") == 1
    assert "absent was never launched; launched were saxpy (73)" in capsys.readouterr().err


def test_a_program_that_fails_is_told_with_its_words(
    ws: Workspace, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add(ws, root, "saxpy", "echo no device >&2; exit 3")
    assert kpd(ws, "observe", "prover") == 1
    assert "the program ended with 3: no device" in capsys.readouterr().err
    assert not (ws.root / "refs").exists()


def test_it_waits_for_who_measures_on_the_device_and_says_so(ws: Workspace, root: Path, tmp_path: Path) -> None:
    leases, looks = tmp_path / "leases", tmp_path / "looks"
    leases.mkdir()
    with ws.config.open("a") as config:
        config.write(f'\n[hosts.local]\nleases = "{leases}"\n')
    lock = leases / "cpu.lock"
    add(ws, root, "saxpy", f"flock -n {lock} echo free >{looks} || echo leased >{looks}; {RUN}")
    with lock.open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        observing = subprocess.Popen(
            [sys.executable, "-m", "kpd.cli.main", "-w", str(ws.root), "project", "observe", "prover"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert observing.stderr is not None
        assert observing.stderr.readline().startswith("waits: local: ")
        assert not looks.exists()
    assert observing.wait(PATIENCE_S) == 0
    assert looks.read_text() == "leased\n"
