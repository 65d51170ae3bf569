"""A bundle is read within limits, whatever is in the file."""

import gzip
import io
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kpd.evidence import archive
from kpd.evidence.archive import BadBundle, pack, read, unpack
from tests.support.evidence.bundles import recorded


def packed(fill: Callable[[tarfile.TarFile], object]) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as made:
        fill(made)
    return gzip.compress(raw.getvalue())


def plain(made: tarfile.TarFile, name: str, data: bytes = b"{}") -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    made.addfile(entry, io.BytesIO(data))


def of_type(made: tarfile.TarFile, type: bytes) -> None:
    entry = tarfile.TarInfo("manifest.json")
    entry.type, entry.linkname = type, "/etc/passwd"
    made.addfile(entry)


def test_the_same_bundle_is_the_same_bytes_and_is_read_as_it_was() -> None:
    assert unpack(pack(recorded())) == recorded()
    assert pack(recorded()) == pack(replace(recorded(), files=dict(reversed(recorded().files.items()))))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "cut off"),
        (b"PK\x03\x04", "no gzip file"),
        (gzip.compress(b"x" * 2000)[:20], "cut off"),
        (gzip.compress(b"x" * 2000), "no tar archive"),
        (packed(lambda made: None), "holds no manifest.json"),
        (packed(lambda made: plain(made, "manifest.json", b"[" * 100_000)), "manifest.json cannot be read"),
        (packed(lambda made: plain(made, "manifest.json", b'{"format": 2}')), "format 2, this kpd reads format 1"),
        (packed(lambda made: (plain(made, "a"), plain(made, "a"))), "'a' twice"),
        (packed(lambda made: of_type(made, tarfile.SYMTYPE)), "not a plain file"),
        (packed(lambda made: of_type(made, tarfile.FIFOTYPE)), "not a plain file"),
        (packed(lambda made: of_type(made, tarfile.GNUTYPE_SPARSE)), "not a plain file|no tar archive"),
    ],
    # Not the bytes, which have the time: workers that collect different names refuse to begin.
    ids=["empty", "zip", "half", "text", "no_files", "deep", "format", "twice", "link", "pipe", "sparse"],
)
def test_what_is_no_bundle_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(BadBundle, match=said):
        unpack(data)


@pytest.mark.parametrize(
    ("limit", "value", "said"),
    [
        ("MOST_PACKED", 100, "it is larger than"),
        ("MOST_BYTES", 5000, "more than"),
        ("MOST_FILE", 100, "larger than"),
        ("MOST_FILES", 3, "more than 3 files"),
    ],
)
def test_a_bundle_over_a_limit_is_refused(monkeypatch: pytest.MonkeyPatch, limit: str, value: int, said: str) -> None:
    data = pack(recorded())
    monkeypatch.setattr(archive, limit, value)
    with pytest.raises(BadBundle, match=said):
        unpack(data)


def test_a_file_that_unpacks_without_end_costs_no_more_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_BYTES", 1 << 20)
    with pytest.raises(BadBundle, match="more than 1 MiB"):
        unpack(gzip.compress(bytes(64 << 20), 9))


def test_a_large_file_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "b.tgz").write_bytes(pack(recorded()))
    monkeypatch.setattr(archive, "MOST_PACKED", 1 << 20)
    assert read(tmp_path / "b.tgz") == recorded()
    monkeypatch.setattr(archive, "MOST_PACKED", 100)
    with pytest.raises(BadBundle, match="is larger than"):
        read(tmp_path / "b.tgz")
    with pytest.raises(BadBundle, match="No such file"):
        read(tmp_path / "none.tgz")


@given(st.binary(max_size=3000), st.booleans())
def test_any_bytes_are_refused(data: bytes, zipped: bool) -> None:
    with pytest.raises(BadBundle):
        unpack(gzip.compress(data) if zipped else data)
