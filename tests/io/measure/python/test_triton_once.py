"""What Triton does once for all processes of a job, with a package that passes for it."""

import subprocess
import sys
from pathlib import Path

import pytest

RUN = """
import sys, threading
from kpd.measure.python.host import main, triton_once
main.load(sys.argv[1].split())
if "triton" in sys.modules:
    triton_once.finish(triton_once.hashing())
print([getattr(sys.modules.get(name), "hashed", 0) for name in triton_once.KEYS], triton_once.LATE in sys.modules)
print(threading.active_count())
"""
KEY = """
import functools
hashed = 0

@functools.lru_cache
def triton_key():
    global hashed
    hashed += 1
"""


def package(root: Path, name: str, text: str = "") -> None:
    """Write a module, and the packages that it is in."""
    *parents, last = name.split(".")
    folder = root
    for parent in parents:
        folder = folder / parent
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").touch()
    (folder / f"{last}.py").write_text(text)


@pytest.mark.parametrize(
    ("libraries", "module", "late", "said"),
    [
        ("triton", "triton.runtime.cache", True, "[1, 0] True"),
        ("triton", "triton.compiler.compiler", False, "[0, 1] False"),
        ("triton", "triton.other", False, "[0, 0] False"),
        ("numpy", "triton.runtime.cache", True, "[0, 0] False"),
    ],
)
def test_triton_hashes_its_files_once(tmp_path: Path, libraries: str, module: str, late: bool, said: str) -> None:
    """No thread is left when the libraries are loaded: processes are forked then."""
    package(tmp_path, module, KEY)
    (tmp_path / "triton" / "__init__.py").write_text(f"import {module}")
    if late:
        package(tmp_path, "triton.experimental.gluon.nvidia.hopper")
    run = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{RUN}", libraries]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout.split("\n") == [said, "1", ""]
