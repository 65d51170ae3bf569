"""Stands before `ninja`, by which torch builds extensions in C++ and CUDA: what a check has built is not built again.

Ninja itself would build it in each process: the folders have other names there, and files of an archive are new.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PROGRAMS = "programs"
RULES = "build.ninja"
BUILT = ".built"  # the hash of what a file was built from lies beside it
SOURCES = (".cpp", ".cc", ".cxx", ".c", ".cu", ".h", ".hpp", ".cuh")
PLAIN = re.compile(r"-v|-j|\d+")  # arguments of a build of all that is wanted
START = """\
#!/bin/sh
exec {} -S -c 'import sys; sys.path.insert(0, sys.argv.pop(1))
from kpd.measure.python.host import ninja; sys.exit(ninja.main(*sys.argv[1:]))' {} {} "$@"
"""


def install(folder: Path) -> None:
    """Put it into `folder`, where a worker works, and there before all other programs of that name."""
    programs = folder / PROGRAMS
    programs.mkdir(exist_ok=True)
    runner = str(Path(__file__).parents[4])  # where this program's modules are: an archive, or a folder
    (programs / "ninja").write_text(START.format(*map(shlex.quote, (sys.executable, runner, str(folder)))))
    (programs / "ninja").chmod(0o755)
    os.environ["PATH"] = f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}"


def main(folder: str, *arguments: str) -> int:
    """Build as ninja does in this folder, unless the same was built here before. Return the exit status."""
    others = [path for path in os.environ["PATH"].split(os.pathsep) if path != f"{folder}/{PROGRAMS}"]
    os.environ["PATH"] = os.pathsep.join(others)
    real = shutil.which("ninja")
    if real is None:
        sys.stderr.write("ninja is not installed, which torch needs to build extensions: pip install ninja\n")
        return 127
    if not Path(RULES).is_file() or not all(map(PLAIN.fullmatch, arguments)):
        os.execv(real, [real, *arguments])
    wanted, notes = state(folder), {target: Path(f"{target}{BUILT}") for target in made()}
    if notes and all(target.exists() and _is_of(note, wanted) for target, note in notes.items()):
        return 0
    status = subprocess.run([real, *arguments], check=False).returncode
    if not status:
        for note in notes.values():
            note.write_text(wanted)
    return status


def _is_of(note: Path, wanted: str) -> bool:
    return note.is_file() and note.read_text() == wanted


def state(folder: str) -> str:
    """Return the hash of what is to be built: of the rules, without names of folders, and of the sources beside them.

    Sources among a kernel's own files are not read: what it has compiled is kept by their content.
    """
    rules = Path(RULES).read_text().replace(str(Path.cwd()), ".")
    found = hashlib.sha256(re.sub(rf"{re.escape(folder)}/kernel\w+", "kernel", rules).encode())
    for path in sorted(path for path in Path.cwd().iterdir() if path.suffix in SOURCES):
        found.update(path.name.encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


def made() -> Iterator[Path]:
    """Yield the files that the rules make when nothing is asked for by name."""
    for line in Path(RULES).read_text().splitlines():
        if line.startswith("default "):
            yield from map(Path, line.split()[1:])
