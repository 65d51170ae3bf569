"""Keeps what Triton has compiled for a kernel, so that later jobs need not compile it again.

A check has only its candidate in its worker: so what it leaves is the candidate's own work. A job that gets it unpacks
it before any kernel runs.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from pathlib import Path

COMPILED = Path("compiled")
KEPT = "out/compiled.zip"
GIVEN = "KPD_COMPILED"  # the paths of such archives, with colons between
MOST = 256 << 20  # bytes


def folder(kernel: str) -> str:
    """Return where a job keeps what is compiled for a kernel, by its content."""
    return str(COMPILED / hashlib.sha256(Path(kernel).read_bytes()).hexdigest()[:32])


def unpack() -> None:
    """Take what earlier jobs have kept."""
    for path in filter(None, os.environ.get(GIVEN, "").split(":")):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(COMPILED)


def pack(kernel: str) -> str:
    """Keep what has been compiled for a kernel; return the archive's sha256, empty where there is nothing to keep."""
    found = Path(folder(kernel), "triton_cache_dir")
    files = [one for one in sorted(found.rglob("*")) if one.is_file() and not one.is_symlink()]
    if not files or sum(one.stat().st_size for one in files) > MOST:
        return ""
    with zipfile.ZipFile(KEPT, "w") as archive:
        for one in files:
            archive.write(one, one.relative_to(COMPILED))
    return hashlib.sha256(Path(KEPT).read_bytes()).hexdigest()
