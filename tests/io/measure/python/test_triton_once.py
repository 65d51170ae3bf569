"""What Triton does once for all processes of a job, with a package that passes for it."""

import subprocess
import sys
from pathlib import Path

import pytest

RUN = """
import sys
if sys.argv[1] != "none":
    import triton
    __import__(sys.argv[1])
from kpd.measure.python.host import triton_once
triton_once.prepare()
triton_once.prepare()
print([getattr(sys.modules.get(name), "hashed", 0) for name in triton_once.KEYS], triton_once.LATE in sys.modules)
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
    ("module", "late", "said"),
    [
        ("triton.runtime.cache", True, "[1, 0] True"),
        ("triton.compiler.compiler", False, "[0, 1] False"),
        ("none", True, "[0, 0] False"),
    ],
)
def test_triton_hashes_its_files_once(tmp_path: Path, module: str, late: bool, said: str) -> None:
    if module != "none":
        package(tmp_path, module, KEY)
    if late:
        package(tmp_path, "triton.experimental.gluon.nvidia.hopper")
    run = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{RUN}", module]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip() == said
