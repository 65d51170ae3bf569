"""Writes and reads evidence bundles. A bundle may come from anybody: it is read into memory, within limits.

It is a tar.gz of plain files, so that anybody can look into it:

    manifest.json        BundleManifest: what it is, and the sha256 of each other file
    manifest.json.sig    the signature of the manifest, where it is signed (`ssh-keygen -Y`)
    events.jsonl         the run's events, one a line, with their places in the log
    environment.json     Environment: machine, task and kpd
    candidates/SHA256    each file of each candidate, once
    task/PATH            the run's own copy of the task
    iterations/NNNN/…    samples of the contest, the audits and the held-out cases; check and build
"""

import gzip
import io
import tarfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kpd.model import codec
from kpd.model.hosts import HostCard
from kpd.model.state import TaskCard
from kpd.workspace.run_files import digest

FORMAT = 1
MOST_PACKED = 64 << 20
MOST_BYTES = 256 << 20
"""The most bytes that a bundle may have when it is unpacked, and …"""
MOST_FILE = 32 << 20
"""… each of its files."""
MOST_FILES = 20_000
MANIFEST, SIGNATURE, EVENTS, ENVIRONMENT = "manifest.json", "manifest.json.sig", "events.jsonl", "environment.json"
CANDIDATES, TASK = "candidates/", "task/"


class BadBundle(Exception):
    """The error that a file is no bundle that can be read; the message says why."""


@dataclass(frozen=True, slots=True)
class PackedFile:
    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class BundleManifest:
    """`kpd` is the version that made the bundle. `left_out` are files of the run that are too large for one.

    `scrubbed`: names of people and hosts and home paths are placeholders. `redacted` counts the keys that were found
    and replaced.
    """

    format: int
    kpd: str
    run: str
    task: str
    files: dict[str, PackedFile]
    scrubbed: bool = False
    redacted: int = 0
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Environment:
    """The machine and the task as kpd knew them when the bundle was made; None where they are not known any more."""

    kpd: str
    host: HostCard | None
    task: TaskCard | None


@dataclass(frozen=True, slots=True)
class Bundle:
    """`files` has all files but the manifest and its signature, by their names in the archive."""

    manifest: BundleManifest
    files: Mapping[str, bytes]
    signed: bytes
    """The manifest as it is in the archive, which is what the signature is of."""
    signature: bytes | None = None


def iteration_file(number: int, name: str) -> str:
    return f"iterations/{number:04d}/{name}"


def entries(files: Mapping[str, bytes]) -> dict[str, PackedFile]:
    return {name: PackedFile(digest(data), len(data)) for name, data in sorted(files.items())}


def pack(bundle: Bundle) -> bytes:
    """Return the archive; the same bundle always gives the same bytes."""
    held = {**bundle.files, MANIFEST: bundle.signed}
    if bundle.signature is not None:
        held[SIGNATURE] = bundle.signature
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(held, key=lambda name: (name != MANIFEST, name)):
            entry = tarfile.TarInfo(name)
            entry.size = len(held[name])
            entry.mode = 0o644
            archive.addfile(entry, io.BytesIO(held[name]))
    return gzip.compress(packed.getvalue(), mtime=0)


def read(path: Path) -> Bundle:
    """Read a bundle. No file is written. Raises BadBundle."""
    try:
        with path.open("rb") as file:
            packed = file.read(MOST_PACKED + 1)
    except OSError as err:
        raise BadBundle(f"it cannot be read: {err.strerror or err}") from err
    if len(packed) > MOST_PACKED:
        raise BadBundle(f"it is larger than {MOST_PACKED >> 20} MiB")
    return unpack(packed)


def unpack(packed: bytes) -> Bundle:
    """Return the bundle in an archive. Raises BadBundle."""
    if len(packed) > MOST_PACKED:
        raise BadBundle(f"it is larger than {MOST_PACKED >> 20} MiB")
    files = _files(_unpacked(packed))
    signed, signature = files.pop(MANIFEST, None), files.pop(SIGNATURE, None)
    if signed is None:
        raise BadBundle(f"it holds no {MANIFEST}, so it is no evidence bundle")
    try:
        found = codec.decode(signed, _Format).format
        if found != FORMAT:
            raise BadBundle(f"it has format {found}, this kpd reads format {FORMAT}: was it made by a newer kpd?")
        return Bundle(codec.decode(signed, BundleManifest), files, signed, signature)
    except codec.CodecError as err:
        raise BadBundle(f"{MANIFEST} cannot be read: {err}") from err


@dataclass(frozen=True, slots=True)
class _Format:
    format: int


def _unpacked(packed: bytes) -> bytes:
    """Decompress, but no more than MOST_BYTES. Raises BadBundle."""
    stream = zlib.decompressobj(wbits=31)  # gzip
    try:
        raw = stream.decompress(packed, MOST_BYTES + 1)
    except zlib.error as err:
        raise BadBundle(f"it is no gzip file: {err}") from err
    if len(raw) > MOST_BYTES:
        raise BadBundle(f"it holds more than {MOST_BYTES >> 20} MiB")
    if not stream.eof:
        raise BadBundle("it is cut off")
    return raw


def _files(raw: bytes) -> dict[str, bytes]:
    """Return the plain files of a tar archive. Raises BadBundle."""
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(raw), mode="r:") as archive:
            for entry in archive:
                if entry.name in found:
                    raise BadBundle(f"it holds {entry.name!r} twice")
                if len(found) == MOST_FILES:
                    raise BadBundle(f"it holds more than {MOST_FILES} files")
                found[entry.name] = _content(archive, entry)
    except (tarfile.TarError, EOFError, ValueError, OverflowError, RecursionError, MemoryError) as err:
        raise BadBundle(f"it is no tar archive: {err}") from err
    return found


def _content(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> bytes:
    if entry.type != tarfile.REGTYPE or entry.issparse():
        raise BadBundle(f"{entry.name!r} in it is not a plain file")
    if not 0 <= entry.size <= MOST_FILE:
        raise BadBundle(f"{entry.name!r} in it is larger than {MOST_FILE >> 20} MiB")
    file = archive.extractfile(entry)
    data = b"" if file is None else file.read()
    if len(data) != entry.size:
        raise BadBundle(f"{entry.name!r} in it is cut off")
    return data
