"""What lies in a folder that others wrote: anything may, and nothing of it is run or followed."""

import os
from pathlib import Path

import pytest

from kpd.imports import source
from kpd.imports.draft import Answers
from kpd.imports.errors import ImportRefused, Unclear
from kpd.imports.importer import recognised
from kpd.imports.source import read_folder
from kpd.workspace.run_files import MOST_BYTES
from tests.support.imports import harnessgym as gym
from tests.support.imports.folders import written


def test_products_hidden_files_and_empty_folders(tmp_path: Path) -> None:
    files = {
        "a.c": "", ".gitignore": "*.gen\n# no\n!keep.gen\n/deep/x\ncache/\n", "b.gen": "", "a.o": "", "build/x.c": "",
        ".git/HEAD": "", "src/b.c": "", "src/__pycache__/b.pyc": "", "cache/c": "", "x~": "", "results/1.json": "",
    }  # fmt: skip
    (tmp_path / "ledger").mkdir()
    found = read_folder(written(tmp_path, files))
    assert sorted(found.files) == ["a.c", "src/b.c"]
    assert sorted(found.products) == ["a.o", "b.gen", "build/", "cache/", "results/"]
    assert found.empty == ("ledger/",)


def test_a_link_that_leads_out_is_refused_and_one_inside_is_followed(tmp_path: Path) -> None:
    folder = written(tmp_path / "in", {"a.py": "x = 1\n", "sub/b.py": ""})
    (folder / "sub" / "c.py").symlink_to("../a.py")
    (folder / "loop").symlink_to(".")
    found = read_folder(folder)
    assert found.text("sub/c.py") == "x = 1\n"
    assert found.left_out == ("loop: a link to something that is no file",)
    for target in ("/etc/passwd", "../out.py", "/etc"):
        (tmp_path / "out.py").touch()
        (folder / "bad").symlink_to(target)
        with pytest.raises(ImportRefused, match="bad is a link that leads out"):
            read_folder(folder)
        (folder / "bad").unlink()


@pytest.mark.parametrize(("more", "kept"), [(0, True), (1, False)])
def test_huge_special_and_oddly_named_files_are_left_out(tmp_path: Path, more: int, kept: bool) -> None:
    folder = written(tmp_path, {"a b.c": "", "a.c": ""})
    os.mkfifo(folder / "pipe")
    with (folder / "big.bin").open("wb") as file:
        file.truncate(MOST_BYTES + more)
    found = read_folder(folder)
    assert ("big.bin" in found.files) == kept
    told = ["'a b.c': a name that tools trip over", "pipe: not a regular file"]
    assert list(found.left_out) == (told if kept else [told[0], "big.bin: larger than 16 MiB", told[1]])


@pytest.mark.parametrize("more", [0, 1])
def test_folders_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: int) -> None:
    monkeypatch.setattr(source, "MOST_FILES", 3)
    monkeypatch.setattr(source, "MOST_TOTAL", 6)
    written(tmp_path, {"a": "xx", "b": "xx", "c": "xx"})
    assert len(read_folder(tmp_path).files) == 3
    (tmp_path / "c").write_text("xx" + "x" * more)
    if more:
        with pytest.raises(ImportRefused, match="more than"):
            read_folder(tmp_path)
        (tmp_path / "c").write_text("")
        (tmp_path / "d").touch()
        with pytest.raises(ImportRefused, match="more than 3 files"):
            read_folder(tmp_path)


def test_one_file_and_nothing(tmp_path: Path) -> None:
    written(tmp_path, {"a.py": "", "b.py": ""})
    assert list(read_folder(tmp_path / "a.py").files) == ["a.py"]
    with pytest.raises(ImportRefused, match="no such file or folder"):
        read_folder(tmp_path / "c")


@pytest.mark.parametrize("more", [0, 1])
def test_one_file_is_as_bounded_as_those_of_a_folder(tmp_path: Path, more: int) -> None:
    with (tmp_path / "a.py").open("wb") as file:
        file.truncate(MOST_BYTES + more)
    if more:
        with pytest.raises(ImportRefused, match="larger than 16 MiB"):
            read_folder(tmp_path / "a.py")
    else:
        assert read_folder(tmp_path / "a.py").files == {"a.py": MOST_BYTES}


def test_one_file_with_an_odd_name_or_elsewhere(tmp_path: Path) -> None:
    folder = written(tmp_path / "in", {"a b.py": "", "a.py": ""})
    with pytest.raises(ImportRefused, match="a name that tools trip over"):
        read_folder(folder / "a b.py")
    (folder / "out.py").symlink_to("/etc/passwd")
    with pytest.raises(ImportRefused, match=r"out\.py is a link that leads out"):
        read_folder(folder / "out.py")
    (folder / "same.py").symlink_to("a.py")
    assert list(read_folder(folder / "same.py").files) == ["same.py"]


def test_a_folder_without_a_known_format(tmp_path: Path) -> None:
    folder = read_folder(written(tmp_path, {"main.c": "int main(void) { return 0; }\n"}))
    with pytest.raises(ImportRefused, match="none of the formats"):
        recognised(folder)
    with pytest.raises(ImportRefused, match="there is no format 'nonsense'"):
        recognised(folder, "nonsense")


def test_a_description_that_names_files_outside_makes_none_of_them_editable(tmp_path: Path) -> None:
    files = {"task.md": "Edit `../../kernel.py` and `/etc/passwd.c`.\n", "benchmark.py": "", "run.py": ""}
    folder = read_folder(written(tmp_path, files))
    with pytest.raises(Unclear, match="which files may a candidate change"):
        recognised(folder).importer.draft(folder, Answers())
    (tmp_path / "task.md").write_text("Edit `../../kernel.py`, `/etc/passwd.c` and `missing.c`.\n")
    folder = read_folder(tmp_path)
    with pytest.raises(ImportRefused, match=r"edit missing\.c, which is not in"):
        recognised(folder).importer.draft(folder, Answers())
    with pytest.raises(ImportRefused, match=r"\.\./x\.py is not in"):
        recognised(folder).importer.draft(folder, Answers(editable=("../x.py",)))


def test_nothing_of_the_folder_is_run_to_recognise_it(tmp_path: Path) -> None:
    trap = f"open({str(tmp_path / 'was-here')!r}, 'w')\nraise SystemExit(1)\n"
    files = {**gym.FILES, "benchmark.py": gym.BENCHMARK + trap, "setup.py": trap, "conftest.py": trap}
    folder = read_folder(written(tmp_path / "folder", files))
    recognised(folder).importer.draft(folder, Answers())
    assert not (tmp_path / "was-here").exists()


def test_a_name_that_looks_like_another_is_left_out_and_told_by_its_code_points(tmp_path: Path) -> None:
    odd = ("kern\u0435l.py", "k\u202eyp.py", "\x1b[2J.py", "a\n.py")
    found = read_folder(written(tmp_path, dict.fromkeys((*odd, "kernel.py"), "")))
    assert list(found.files) == ["kernel.py"]
    assert list(found.left_out) == [f"{name!a}: a name that tools trip over" for name in sorted(odd)]
