"""What Triton has compiled in a check, in another job."""

import hashlib
import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from kpd.measure.python.host import kept
from kpd.measure.python.host.main import own_folder


def test_what_a_check_compiled_is_there_in_a_later_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kernel.zip").write_bytes(b"kernel")
    for job in ("check", "time"):
        (tmp_path / job / "out").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "check")
    assert kept.pack("../kernel.zip") == ""
    made = Path(kept.folder("../kernel.zip"), "triton_cache_dir", "key")
    made.mkdir(parents=True)
    (made / "kernel.cubin").write_text("code")
    (made / "secret").symlink_to(tmp_path / "kernel.zip")
    assert kept.pack("../kernel.zip") == hashlib.sha256(Path(kept.KEPT).read_bytes()).hexdigest()

    monkeypatch.setenv(kept.GIVEN, str(Path.cwd() / kept.KEPT))
    monkeypatch.chdir(tmp_path / "time")
    kept.unpack()
    assert [path.name for path in Path(kept.folder("../kernel.zip")).rglob("*") if path.is_file()] == ["kernel.cubin"]
    assert (made / "kernel.cubin").read_text() == "code"


@pytest.mark.parametrize("what", ["folder", "parent", "file", "fifo", "name", "much", "deep"])
def test_what_a_candidate_left_in_its_folder_never_ends_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    (tmp_path / "kernel.zip").write_bytes(b"kernel")
    (tmp_path / "elsewhere" / "triton_cache_dir").mkdir(parents=True)
    (tmp_path / "elsewhere" / "triton_cache_dir" / "secret").write_text("secret")
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    own = Path(kept.folder("kernel.zip"), "triton_cache_dir")
    if what == "parent":
        own.parent.parent.mkdir()
        own.parent.symlink_to(tmp_path / "elsewhere")
    elif what == "folder":
        own.parent.mkdir(parents=True)
        own.symlink_to(tmp_path / "elsewhere")
    else:
        own.mkdir(parents=True)
    if what == "file":
        (own / "link").symlink_to(tmp_path / "elsewhere" / "triton_cache_dir" / "secret")
    elif what == "fifo":
        os.mkfifo(own / "fifo")
    elif what == "name":
        (own / "odd\udcff").write_text("code")
    elif what == "much":
        monkeypatch.setattr(kept, "MOST", 5000)
        (own / "code").write_text("c" * 5001)
    elif what == "deep":
        monkeypatch.chdir(own)
        for _ in range(1100):
            Path("d").mkdir()
            os.chdir("d")
        monkeypatch.chdir(tmp_path)
    assert kept.pack("kernel.zip") == ""
    subprocess.run(["rm", "-rf", own], check=True)  # Python itself may find it too deep


def test_a_file_of_any_time_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kernel.zip").write_bytes(b"kernel")
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    own = Path(kept.folder("kernel.zip"), "triton_cache_dir")
    own.mkdir(parents=True)
    for name, seconds in (("early", 0), ("late", 1 << 33)):
        (own / name).write_text(name)
        os.utime(own / name, (seconds, seconds))
    assert kept.pack("kernel.zip")
    with zipfile.ZipFile(kept.KEPT) as archive:
        assert [archive.read(name) for name in archive.namelist()] == [b"early", b"late"]


def test_a_process_of_a_contest_has_what_was_kept_in_a_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "kept.zip", "w") as archive:
        archive.writestr("one/triton_cache_dir/code", "code")
    monkeypatch.setenv(kept.GIVEN, str(tmp_path / "kept.zip"))
    monkeypatch.chdir(tmp_path)
    used = set()
    for _ in range(2):
        with own_folder():
            used.add(Path.cwd())
            kept.unpack()
            assert (kept.COMPILED / "one/triton_cache_dir/code").read_text() == "code"
            (kept.COMPILED / "one/triton_cache_dir/code").write_text("changed")
        monkeypatch.chdir(tmp_path)
    assert len(used) == 2 and {one.parent for one in used} == {tmp_path}
    assert [path.name for path in tmp_path.iterdir()] == ["kept.zip"]
