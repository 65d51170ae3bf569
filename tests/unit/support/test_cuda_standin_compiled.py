"""Objects that the stand-in for nvcc keeps by content."""

import os
import time
from pathlib import Path

import pytest

from tests.support.cuda_standin import compiled

COMMAND = ["cc", "-O2", "-c", "kernel.c"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(compiled, "FOLDER", tmp_path / "objects")
    return tmp_path / "objects"


def made(tmp_path: Path, name: str) -> None:
    (tmp_path / "made.o").write_bytes(b"object\x00")
    compiled.keep(name, str(tmp_path / "made.o"), "kernel.c:1: warning: odd")


def test_what_was_kept_comes_back_with_what_the_compiler_said(tmp_path: Path) -> None:
    name = compiled.key(COMMAND, "int x;")
    assert compiled.take(name, str(tmp_path / "out.o")) is None
    assert not (tmp_path / "out.o").exists()
    made(tmp_path, name)
    assert compiled.take(name, str(tmp_path / "out.o")) == "kernel.c:1: warning: odd"
    assert (tmp_path / "out.o").read_bytes() == b"object\x00"


def test_another_text_flag_or_compiler_is_another_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {compiled.key(COMMAND, "int x;"), compiled.key(COMMAND, "int y;"), compiled.key([*COMMAND, "-g"], "int x;")}
    for size in (1, 2):  # a compiler that is replaced
        (tmp_path / "cc").write_text("#" * size)
        (tmp_path / "cc").chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        names.add(compiled.key(COMMAND, "int x;"))
    assert len(names) == 5


def test_what_nobody_uses_is_forgotten_after_a_week(tmp_path: Path, folder: Path) -> None:
    compiled.forget_old()  # nothing there
    made(tmp_path, "old")
    made(tmp_path, "used")
    made(tmp_path, "new")
    for name in ("old", "used"):
        os.utime(folder / f"{name}.o", (0, time.time() - compiled.KEPT_S - 60))
    compiled.take("used", str(tmp_path / "out.o"))
    compiled.forget_old()
    assert sorted(path.name for path in folder.iterdir()) == ["new.o", "new.txt", "used.o", "used.txt"]


def test_a_folder_that_cannot_be_written_is_no_obstacle(tmp_path: Path, folder: Path) -> None:
    folder.write_text("a file")
    made(tmp_path, "x")
    assert compiled.take("x", str(tmp_path / "out.o")) is None
    assert folder.read_text() == "a file"
