"""A recording as a file: what goes in comes out, twice the same bytes, and a hostile one is refused in words."""

import io
import lzma
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from kpd.demo.recording import BadRecording, load, save
from kpd.model import codec
from tests.support.demo.recordings import canned


def archive(path: Path, held: dict[str, bytes], kind: bytes = tarfile.REGTYPE) -> Path:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as out:
        for name, data in held.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.type = (len(data), kind) if kind == tarfile.REGTYPE else (0, kind)
            entry.linkname = "/etc/passwd"
            out.addfile(entry, io.BytesIO(data))
    path.write_bytes(lzma.compress(packed.getvalue()))
    return path


def parts() -> dict[str, bytes]:
    recording = canned()
    return {
        "recording.json": codec.encode(recording.about),
        "events.jsonl": b"\n".join(codec.event_to_json(event) for event in recording.events),
    }


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    save(canned(), tmp_path / "one")
    assert load(tmp_path / "one") == canned()


def test_it_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    recording = canned()
    save(recording, tmp_path / "one")
    save(replace(recording, files=dict(reversed(recording.files.items()))), tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize(
    "name",
    [
        "workspace/runs/../../escape", "workspace//etc/passwd", "/etc/passwd", "workspace/.kpd/events.db", "stray",
        "workspace/tasks/t/task.toml", "workspace/runs/a\nb",
    ],
)  # fmt: skip
def test_a_file_that_is_not_a_runs_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadRecording):
        load(archive(tmp_path / "bad", {**parts(), name: b"x"}))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE])
def test_anything_but_plain_files_is_refused(tmp_path: Path, kind: bytes) -> None:
    with pytest.raises(BadRecording, match="not a plain file"):
        load(archive(tmp_path / "bad", {"workspace/runs/t/r1/link": b""}, kind))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"recording.json": b'{"format": 99}'}, "has format 99"),
        ({"recording.json": b"{}"}, "cannot be read"),
        ({"recording.json": b'{"format": 1}'}, "cannot be read"),
        ({"events.jsonl": b""}, "numbered"),
        ({"events.jsonl": b'{"seq":2,"at":1.0,"kind":"queue_released","body":{"by":""}}'}, "numbered"),
        ({"events.jsonl": b'{"seq":1,"at":1.0,"kind":"from_the_future","body":{}}'}, "newer kpd"),
    ],
)
def test_what_is_wrong_with_it_is_said(tmp_path: Path, changed: dict[str, bytes], says: str) -> None:
    with pytest.raises(BadRecording, match=says):
        load(archive(tmp_path / "bad", parts() | changed))


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadRecording, match=r"holds no recording\.json"):
        load(archive(tmp_path / "bad", {}))
    with pytest.raises(BadRecording, match="No such file"):
        load(tmp_path / "none")


def test_no_archive_is_no_recording(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    (tmp_path / "cut").write_bytes(lzma.compress(b"x" * 5000)[:40])
    (tmp_path / "empty").write_bytes(lzma.compress(b"not a tar" * 1000))
    for name in ("text", "cut", "empty"):
        with pytest.raises(BadRecording):
            load(tmp_path / name)


def test_one_that_would_fill_the_memory_is_not_unpacked(tmp_path: Path) -> None:
    (tmp_path / "bomb").write_bytes(lzma.compress(bytes(65 << 20), preset=0))
    with pytest.raises(BadRecording, match="more than 64 MiB"):
        load(tmp_path / "bomb")
