"""Keeps what Triton and torch have compiled for a kernel, so that later jobs need not compile it again.

A check has only its candidate in its worker: so what it leaves is the candidate's own work. A job that gets it unpacks
it before any kernel runs.
"""

from __future__ import annotations

import hashlib
import os
import stat
import zipfile
from collections.abc import Sequence
from pathlib import Path

TRITON = "TRITON_CACHE_DIR"
CACHES = (TRITON, "TORCHINDUCTOR_CACHE_DIR", "TORCH_EXTENSIONS_DIR")
"""The variables that tell Triton and torch where to keep it: folders of the same names, in small letters."""
COMPILED = Path("compiled")
KEPT = "out/compiled.zip"
GIVEN = "KPD_COMPILED"  # the paths of such archives, with colons between
MOST = 256 << 20  # bytes
LEAST = 4096  # bytes that a file counts as, however small it is


def folder(kernel: str) -> str:
    """Return where a job keeps what is compiled for a kernel, by its content."""
    return str(COMPILED / hashlib.sha256(Path(kernel).read_bytes()).hexdigest()[:32])


def unpack() -> None:
    """Take what earlier jobs have kept."""
    for path in filter(None, os.environ.get(GIVEN, "").split(":")):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(COMPILED)


def give(job: Path) -> None:
    """Have `unpack` in this process take what a command of the job has kept, whose folder that is."""
    if (job / KEPT).exists():
        os.environ[GIVEN] = ":".join(filter(None, (os.environ.get(GIVEN, ""), str(job / KEPT))))


def pack(kernel: str) -> str:
    """Keep what has been compiled for a kernel; return the archive's sha256.

    It is empty where there is nothing to keep, or a candidate has made of it what cannot be kept.
    """
    try:
        found = _found([Path(folder(kernel), name.lower()) for name in CACHES])
        if not found:
            return ""
        with zipfile.ZipFile(KEPT, "w") as archive:
            for name, content in sorted(found.items()):
                archive.writestr(zipfile.ZipInfo(name), content)
    except (OSError, ValueError, RecursionError):
        Path(KEPT).unlink(missing_ok=True)
        return ""
    return hashlib.sha256(Path(KEPT).read_bytes()).hexdigest()


def _found(wanted: Sequence[Path]) -> dict[str, bytes]:
    """Read the files below those folders, by their names in an archive. Raises OSError, ValueError.

    No link is followed.
    """
    found, room = {}, MOST
    for root, _, names, at in os.fwalk(COMPILED):  # a kernel could replace all below it, but not the folder itself
        if not {Path(root), *Path(root).parents}.intersection(wanted):
            continue
        for name in names:
            if not stat.S_ISREG(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
                continue
            with os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at), "rb") as file:
                content = file.read(room + 1)
            room -= max(len(content), LEAST)
            if room < 0:
                raise ValueError(f"what is kept for a kernel has more than {MOST >> 20} MiB")
            found[str(Path(root, name).relative_to(COMPILED))] = content
    return found
