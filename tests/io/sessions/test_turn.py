"""The space that a session uses, also where its agent hides it or takes it away."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kpd.sessions import turn
from kpd.workspace.disk import used

DEPTH = 2100


def test_files_and_folders_count_and_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").write_bytes(bytes(1 << 16))
    (tmp_path / "a" / "link").symlink_to("/usr")
    size, files = used(tmp_path, turn.MOST_DISK, turn.MOST_FILES)
    assert (size >= 1 << 16, files) == (True, 4)
    assert used(tmp_path / "missing", turn.MOST_DISK, turn.MOST_FILES) == (0, 0)


def test_the_count_ends_with_the_first_file_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abcd":
        (tmp_path / name).touch()
    monkeypatch.setattr(turn, "MOST_FILES", 4)
    assert used(tmp_path, turn.MOST_DISK, turn.MOST_FILES)[1] == 4
    monkeypatch.setattr(turn, "MOST_FILES", 2)
    assert used(tmp_path, turn.MOST_DISK, turn.MOST_FILES)[1] == 3


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[int]:
    """Make folders deeper than a path can name, and remove them again."""
    top = os.open(tmp_path, os.O_RDONLY)
    at = [top]
    for _ in range(DEPTH):
        os.mkdir("x", dir_fd=at[-1])
        at.append(os.open("x", os.O_RDONLY, dir_fd=at[-1]))
        if len(at) > 2:
            os.close(at.pop(-2))
    yield top
    while len(at) > 1:
        os.close(at.pop())
    os.rename("x", "y", src_dir_fd=top, dst_dir_fd=top)
    for _ in range(DEPTH - 1):
        below = os.open("y", os.O_RDONLY, dir_fd=top)
        os.rename("x", "z", src_dir_fd=below, dst_dir_fd=top)
        os.close(below)
        os.rmdir("y", dir_fd=top)
        os.rename("z", "y", src_dir_fd=top, dst_dir_fd=top)
    os.rmdir("y", dir_fd=top)
    os.close(top)


def test_folders_too_deep_to_be_named_are_too_many(tmp_path: Path, deep: int) -> None:
    assert used(tmp_path, turn.MOST_DISK, turn.MOST_FILES)[1] == turn.MOST_FILES + 1
