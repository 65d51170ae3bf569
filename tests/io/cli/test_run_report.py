"""kpd report on a real log without a daemon."""

from pathlib import Path

import pytest

from kpd.cli.main import main
from tests.support.cli.recorded_run import workspace_of

Printed = pytest.CaptureFixture[str]


def test_it_lies_in_the_runs_folder_unless_told_otherwise_and_can_be_opened(
    tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = workspace_of(tmp_path / "ws").root
    assert main(["-w", str(root), "report"]) == 0
    path = root / "runs" / "transpose_cuda" / "r1" / "report.html"
    assert capsys.readouterr().out == f"{path}\n"
    other = tmp_path / "sent.html"
    assert main(["-w", str(root), "report", "r1", "--html", str(other)]) == 0
    assert "+__global__" in (text := other.read_text()), "the diffs come from the iterations' files"
    assert text == path.read_text()
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or not opened[1:])
    for said in ("", "no browser could be opened; open the file by hand"):
        capsys.readouterr()
        assert main(["-w", str(root), "report", "r1", "--html", str(other), "--open"]) == 0
        assert said in capsys.readouterr().err
    assert opened == [other.resolve().as_uri()] * 2


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


def test_the_short_form_needs_no_page(tmp_path: Path, capsys: Printed) -> None:
    ws = workspace_of(tmp_path / "ws")
    folder = ws.run_folder("transpose_cuda", "r1")
    assert main(["-w", str(ws.root), "report", "r1", "--md", str(folder / "short.md")]) == 0
    assert capsys.readouterr().out == f"{folder / 'short.md'}\n" and not (folder / "report.html").exists()
    text = (folder / "short.md").read_text()
    assert "[iteration 13](iter_0013/diff.patch)" in text and (folder / "iter_0013" / "diff.patch").is_file()
    outside = tmp_path / "sent.md"
    assert main(["-w", str(ws.root), "report", "--md", str(outside), "--html", str(tmp_path / "sent.html")]) == 0
    assert "[sent.html](sent.html)" in (text := outside.read_text()) and "iter_0013" not in text
    assert str(tmp_path) not in text


def test_all_runs_are_one_page(tmp_path: Path, capsys: Printed) -> None:
    ws = workspace_of(tmp_path / "ws")
    assert main(["-w", str(ws.root), "report", "--all", "--md", str(tmp_path / "all.md")]) == 0
    assert "(r1, 30.99 µs; 1 run)" in (tmp_path / "all.md").read_text()
    assert main(["-w", str(ws.root), "report", "--all"]) == 0
    assert "5.30×" in (ws.runs / "report.html").read_text()
    assert main(["-w", str(ws.root), "report", "r1", "--all"]) == 64
    assert "--all is of all runs" in capsys.readouterr().err
