"""Files are whole or absent, and candidates stay inside their folder."""

import hashlib
import threading
from pathlib import Path

import pytest

from kpd.workspace.paths import OutsideFolder
from kpd.workspace.run_files import IterationFolder, digest, read_files, write_atomic


def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    path = tmp_path / "state"
    old, new = b"a" * 100_000, b"b" * 100_000
    write_atomic(path, old)
    done = threading.Event()

    def write() -> None:
        for round_ in range(100):
            write_atomic(path, new if round_ % 2 else old)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not done.is_set():
        assert path.read_bytes() in (old, new)
    writer.join()
    assert [entry.name for entry in tmp_path.iterdir()] == ["state"]


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    (path / "kept").mkdir(parents=True)
    with pytest.raises(OSError):
        write_atomic(path, b"new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


def test_an_existing_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text("old")
    path.chmod(0o755)
    write_atomic(path, "new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o755)
    write_atomic(tmp_path / "plain", "x")
    assert (tmp_path / "plain").stat().st_mode & 0o777 == 0o644


def test_an_iterations_candidate_comes_back_by_name_and_hash(tmp_path: Path) -> None:
    folder = IterationFolder(tmp_path / "iter_0001")
    files = {"kernel.c": b"int x;\n", "inc/tile.h": b"\x00\xff"}
    assert folder.write_candidate(files) == {name: digest(data) for name, data in files.items()}
    assert folder.read_candidate() == files == read_files(folder.candidate, files)
    folder.write("memo.md", "why\n")
    assert folder.read("memo.md") == b"why\n"
    assert digest(b"int x;\n") == hashlib.sha256(b"int x;\n").hexdigest()
    with pytest.raises(OutsideFolder):
        folder.write_candidate({"../x": b""})
    with pytest.raises(OutsideFolder):
        folder.read("../x")
