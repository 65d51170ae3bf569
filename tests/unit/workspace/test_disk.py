"""Errors of a disk in words: a full one is named as such."""

import errno
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from kpd.workspace import disk, task
from kpd.workspace.disk import explained, is_full


def failed(number: int, path: str | None = None) -> OSError:
    return OSError(number, os.strerror(number), path)


@pytest.mark.parametrize(
    ("err", "said", "remedy"),
    [
        (failed(errno.ENOSPC, "/a/b"), "no space left on the disk of /a/b", "free some space there"),
        (failed(errno.EDQUOT), "no space left on the disk of the run", "free some space there"),
        (failed(errno.EACCES, "/a/b"), "/a/b: Permission denied", "look"),
        (OSError("odd"), "the run: odd", "look"),
        (shutil.Error([("a", "/to/a", str(failed(errno.ENOSPC, "a"))), ("b", "/to/b", "?")]),
         "no space left on the disk of /to/a", "free some space there"),
        (shutil.Error([("a", "/to/a", str(failed(errno.EACCES, "a")))]),
         "/to/a: [Errno 13] Permission denied: 'a'", "look"),
    ],
)  # fmt: skip
def test_errors_are_named_with_their_place(err: OSError, said: str, remedy: str) -> None:
    assert explained(err, "the run", "look") == (said, remedy)


@pytest.mark.parametrize(("free", "full"), [(disk.LEAST_FREE - 1, True), (disk.LEAST_FREE, False)])
def test_a_disk_is_full_below_a_mebibyte(monkeypatch: pytest.MonkeyPatch, free: int, full: bool) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=free))
    assert is_full(Path("/")) is full


def test_a_copy_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "from").mkdir()
    (tmp_path / "from" / "a").write_text("a")
    (tmp_path / "from" / "b").symlink_to("missing")
    with pytest.raises(shutil.Error):
        task.copy_task(tmp_path / "from", tmp_path / "to")
    assert not (tmp_path / "to").exists()
