"""kpd init and kpd task: what they make, what they leave alone, and what they find wrong."""

import json
import os
import shutil
from pathlib import Path

import pytest

from kpd.cli.main import main
from kpd.workspace.config import Config, load_config
from kpd.workspace.paths import Workspace
from kpd.workspace.task import find_tasks, load_task
from tests.support.cli.roots import root

__all__ = ["root"]


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_init_makes_a_workspace_that_loads(root: Path) -> None:
    ws = Workspace.find(root / "skills")
    assert ws.root == root
    assert load_config(ws) == Config()
    assert {"rmsnorm_silu_cpu", "transpose_cpu"} <= {load_task(folder).name for folder in find_tasks(ws).values()}
    assert all(folder.parent == ws.tasks for folder in find_tasks(ws).values())
    assert (root / ".gitignore").read_text() == "runs/\n.kpd/\n"
    assert (root / "memory" / "README.md").exists()


def test_init_again_changes_nothing_and_says_so(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "config.toml").write_text("[run]\niterations = 3\n")
    (root / "tasks" / "transpose_cpu" / "kernel.c").write_text("/* mine */")
    before = contents(root)
    assert main(["init", str(root)]) == 0
    assert contents(root) == before
    assert "nothing was missing" in capsys.readouterr().err


def test_init_fills_in_what_is_missing(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(root / "tasks" / "transpose_cpu")
    (root / ".gitignore").write_text("*.log\nruns/")
    assert main(["init", str(root)]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"{root}\n"
    assert "made tasks/transpose_cpu/" in captured.err
    assert (root / ".gitignore").read_text() == "*.log\nruns/\n.kpd/\n"


def test_init_refuses_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["init", str(tmp_path / "file")]) == 64
    assert "is not a folder; name a folder" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["../out", "a b", "", ".hidden", "transpose_cpu"])
def test_a_new_task_needs_a_free_and_plain_name(root: Path, name: str) -> None:
    before = contents(root)
    assert main(["-w", str(root), "task", "new", name]) == 64
    assert contents(root) == before


def test_check_explains_every_broken_task(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two", "three"):
        main(["-w", str(root), "task", "new", name])
    capsys.readouterr()
    one, two = (root / "tasks" / name / "task.toml" for name in ("one", "two"))
    one.write_text(one.read_text().replace("seeds", "seedss"))
    two.write_text(two.read_text().replace("BLOCK", "BLOKC").replace('"-O3", ', '"-O3 -o x", '))
    assert main(["-w", str(root), "task", "check", "--static"]) == 64
    told = capsys.readouterr().out
    assert f"✗ one\n    {one}:9: unknown key 'seedss' in [check]; did you mean 'seeds'?\n" in told
    assert f"✗ two\n    {two}:14: " in told
    assert "BLOKC" in told
    assert f"    {two}:15: the compiler flag '-o' is not allowed" in told
    assert "✓ three\n" in told
    assert main(["-w", str(root), "task", "check", "--static", "--json", "one", "three"]) == 64
    assert [(entry["task"], entry["ok"]) for entry in json.loads(capsys.readouterr().out)] == [
        ("one", False),
        ("three", True),
    ]
    assert main(["-w", str(root), "task", "check", "thre"]) == 64
    assert "no task 'thre'; did you mean three?" in capsys.readouterr().err


def test_check_finds_flags_that_a_candidate_may_not_have(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["-w", str(root), "task", "new", "mine"])
    (root / "tasks" / "mine" / "build.json").write_text('{"flags": "-O2 -fplugin=evil.so"}')
    capsys.readouterr()
    assert main(["-w", str(root), "task", "check", "mine"]) == 64
    assert "-fplugin" in capsys.readouterr().out


def test_list_tells_broken_tasks_too(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "tasks" / "broken").mkdir()
    (root / "tasks" / "broken" / "task.toml").write_text("[task\n")
    assert main(["-w", str(root), "task", "list", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["transpose_cpu"]["points"] > 1
    assert "task.toml:1: not TOML" in rows["broken"]["error"]
    assert main(["-w", str(root), "task", "list"]) == 0
    assert "✗" in capsys.readouterr().out


def test_the_workspace_may_be_named_behind_every_word(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, code in ((["task", "list"], 0), (["hosts", "retry", "local"], 3)):
        for at in range(len(words) + 1):
            assert main([*words[:at], "-w", str(root), *words[at:]]) == code, (words, at)
    assert "unrecognized" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("umask", "mode"), [(0o000, 0o755), (0o020, 0o755), (0o002, 0o775), (0o022, 0o755), (0o077, 0o700)]
)
def test_no_umask_lets_everybody_write(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        assert main(["init", str(tmp_path / "ws")]) == 0
    finally:
        os.umask(before)
    assert (tmp_path / "ws" / "tasks").stat().st_mode & 0o777 == mode
