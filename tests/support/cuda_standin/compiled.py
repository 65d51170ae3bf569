"""Objects compiled before, found by content: the text and flags that a compiler gets, and which compiler it is.

Compiling takes most of the time of CUDA tests, and most of it is for kpd's own driver, which is the same each time.
Several processes may use the folder at once: a file appears whole, under its final name.
"""

import contextlib
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[3] / ".pytest_cache" / "objects"  # `make clean` removes it
KEPT_S = 7 * 24 * 3600.0  # after the last use


def key(command: Sequence[str], text: str) -> str:
    """Name the object that this command makes of this preprocessed text. The command has no paths of its own."""
    compiler = Path(shutil.which(command[0]) or command[0]).resolve()
    about = compiler.stat() if compiler.exists() else None
    which = (str(compiler), about and (about.st_size, about.st_mtime_ns))
    return hashlib.sha256(repr((which, tuple(command), text)).encode(errors="replace")).hexdigest()


def take(name: str, out: str) -> str | None:
    """Write the object to `out`; what its compiler said is returned, or None if it is not there."""
    found = FOLDER / f"{name}.o"
    try:
        shutil.copyfile(found, out)
        os.utime(found)
        return found.with_suffix(".txt").read_text()
    except OSError:  # then it is compiled
        return None


def keep(name: str, out: str, said: str) -> None:
    """Keep the object in `out` and what its compiler said, as far as the folder can be written."""
    with contextlib.suppress(OSError):  # then it is compiled again
        FOLDER.mkdir(parents=True, exist_ok=True)
        _appear(FOLDER / f"{name}.txt", said.encode())
        _appear(FOLDER / f"{name}.o", Path(out).read_bytes())


def forget_old() -> None:
    """Remove what nobody has used for a week."""
    for path in FOLDER.glob("*.o"):
        with contextlib.suppress(FileNotFoundError):  # another session was first
            if time.time() - path.stat().st_mtime > KEPT_S:
                path.unlink()
                path.with_suffix(".txt").unlink()


def _appear(path: Path, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=FOLDER)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    Path(temporary).replace(path)
