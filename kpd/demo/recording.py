"""Reads and writes recordings: a run's events and the files of its workspace, in one portable archive.

It is a tar.xz of plain files, so that anybody can look into it:

    recording.json   About: where it comes from
    events.jsonl     an Event a line, numbered from 1
    workspace/       runs/<task>/<run>/… and memory/<task>.md, as the run left them
"""

import io
import lzma
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kpd.model import codec
from kpd.model.events import Event
from kpd.workspace.paths import OutsideFolder, inside

FORMAT = 1
MOST_BYTES = 64 << 20
"""The most bytes that a recording may have when it is unpacked."""
ABOUT, EVENTS, WORKSPACE = "recording.json", "events.jsonl", "workspace/"


class BadRecording(Exception):
    """An error in a recording that cannot be played; the message says why."""


@dataclass(frozen=True, slots=True)
class RecordingInfo:
    """The origin of a recording.

    `made` is the day of the run (2026-11-21, UTC), `kpd` the version it ran under, `command` the command that began it.
    `device`, `driver` and `cuda` are of the machine.
    """

    format: int
    kpd: str
    made: str
    device: str
    driver: str
    cuda: str
    task: str
    run: str
    command: str


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded run; `files` are those of its workspace: path → content."""

    about: RecordingInfo
    events: tuple[Event, ...]
    files: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class _Format:
    format: int


def save(recording: Recording, path: Path) -> None:
    """Write the archive; the same recording always gives the same bytes. Raises OSError."""
    held = {ABOUT: codec.encode(recording.about) + b"\n"}
    held[EVENTS] = b"".join(codec.event_to_json(event) + b"\n" for event in recording.events)
    held |= {WORKSPACE + name: data for name, data in recording.files.items()}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(held):
            entry = tarfile.TarInfo(name)
            entry.size = len(held[name])
            entry.mode = 0o644
            archive.addfile(entry, io.BytesIO(held[name]))
    path.write_bytes(lzma.compress(packed.getvalue(), preset=9 | lzma.PRESET_EXTREME))


def load(path: Path) -> Recording:
    """Read a recording. Raises BadRecording."""
    held = _unpacked(path)
    try:
        about = held.pop(ABOUT)
        if (found := codec.decode(about, _Format).format) != FORMAT:
            raise BadRecording(f"{path} has format {found}, this kpd plays format {FORMAT}")
        events = tuple(codec.event_from_json(line) for line in held.pop(EVENTS).splitlines())
        if [event.seq for event in events] != list(range(1, len(events) + 1)) or not events:
            raise BadRecording(f"{path}: its events are not numbered from 1")
        files = {_own(path, name): data for name, data in held.items()}
        return Recording(codec.decode(about, RecordingInfo), events, files)
    except KeyError as err:
        raise BadRecording(f"{path} holds no {err.args[0]}: it is not a recording") from err
    except codec.CodecError as err:
        raise BadRecording(f"{path} cannot be read: {err}") from err


def _unpacked(path: Path) -> dict[str, bytes]:
    """Return the plain files of the archive, read into memory only. Raises BadRecording."""
    try:
        with lzma.open(path) as file:
            raw = file.read(MOST_BYTES + 1)
        if len(raw) > MOST_BYTES:
            raise BadRecording(f"{path} holds more than {MOST_BYTES >> 20} MiB")
        with tarfile.open(fileobj=io.BytesIO(raw), mode="r:") as archive:
            return {entry.name: _content(archive, entry) for entry in archive}
    except OSError as err:
        raise BadRecording(f"{path} cannot be read: {err.strerror or err}") from err
    except (lzma.LZMAError, EOFError, tarfile.TarError) as err:
        raise BadRecording(f"{path} is not a recording: {err}") from err


def _content(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(entry) if entry.isreg() else None
    if file is None:
        raise BadRecording(f"{entry.name!r} in the recording is not a plain file")
    return file.read()


def _own(path: Path, name: str) -> str:
    """Return the path in the workspace of a file in the archive. Raises BadRecording."""
    relative = name.removeprefix(WORKSPACE)
    top = relative.partition("/")[0]
    try:
        inside(Path("/"), relative)
    except OutsideFolder as err:
        raise BadRecording(f"{path} holds a file that it may not: {err}") from err
    if relative == name or top not in ("runs", "memory"):
        raise BadRecording(f"{path} holds {name!r}, which is not a file of a run")
    return relative
