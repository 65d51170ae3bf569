"""kpd report on a real log without a daemon."""

from pathlib import Path

import pytest

from kpd.cli.main import main
from kpd.daemon.store import EventStore
from kpd.demo.recording import load
from kpd.model.events import IterationEnded
from kpd.workspace.paths import Workspace, inside
from kpd.workspace.run_files import write_atomic
from tests.places import ROOT

Printed = pytest.CaptureFixture[str]


def workspace_of(root: Path, before_baseline: bool = False) -> Workspace:
    """A workspace with the recorded run, whole or only up to the end of its first iteration."""
    recording = load(ROOT / "kpd" / "demo" / "h100.tar.xz")
    (root / "tasks").mkdir(parents=True)
    (root / ".kpd").mkdir(mode=0o700)
    found = Workspace(root)
    with EventStore(found.store) as store:
        for event in recording.events:
            if before_baseline and isinstance(event.fact, IterationEnded):
                break
            store.append(event.fact, event.at)
    for name, data in recording.files.items():
        write_atomic(inside(root, name), data)
    return found


def test_it_lies_in_the_runs_folder_unless_told_otherwise(tmp_path: Path, capsys: Printed) -> None:
    root = workspace_of(tmp_path / "ws").root
    assert main(["-w", str(root), "report"]) == 0
    path = root / "runs" / "transpose_cuda" / "r1" / "report.html"
    assert capsys.readouterr().out == f"{path}\n"
    other = tmp_path / "sent.html"
    assert main(["-w", str(root), "report", "r1", "--html", str(other)]) == 0
    assert "+__global__" in (text := other.read_text()), "the diffs come from the iterations' files"
    assert text == path.read_text()


@pytest.mark.parametrize(
    ("argv", "before_baseline", "said"),
    [
        (["r7"], False, "no run 'r7'"),
        (["r1"], True, "r1 has no baseline yet"),
        (["r1", "--html", "nowhere/r.html"], False, "there is no folder nowhere"),
    ],
)
def test_what_cannot_be_reported_is_said(
    tmp_path: Path, capsys: Printed, argv: list[str], before_baseline: bool, said: str
) -> None:
    root = workspace_of(tmp_path / "ws", before_baseline).root
    assert main(["-w", str(root), "report", *argv]) != 0
    shown = capsys.readouterr()
    assert shown.out == "" and said in shown.err
