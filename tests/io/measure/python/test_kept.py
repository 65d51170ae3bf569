"""What Triton has compiled in a check, in another job."""

import hashlib
from pathlib import Path

import pytest

from kpd.measure.python.host import kept


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
