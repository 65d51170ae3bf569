"""The bytecode of libraries that were installed without: kept once, and found in later processes."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from kpd.measure.python.host.bytecode import lack

SCRIPT = """
import sys
from pathlib import Path
from kpd.measure.python.host import bytecode
sys.path.insert(0, {library!r})
known = Path({known!r})
if {keep}:
    with bytecode.kept(known):
        import library
else:
    with bytecode.used(known):
        import library
print(library.value)
"""


def imported(folder: Path, keep: bool) -> str:
    text = SCRIPT.format(library=str(folder / "library"), known=str(folder / "bytecode"), keep=keep)
    command = [sys.executable, "-B", "-c", text]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(name="library")
def _library(tmp_path: Path) -> Path:
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "library.py").write_text("value = 'source'\n")
    return tmp_path


def test_bytecode_is_kept_in_one_file_and_found_there(library: Path) -> None:
    assert imported(library, keep=False) == "source"
    assert imported(library, keep=True) == "source"
    assert not (library / "library" / "__pycache__").exists()
    kept = library / "bytecode"
    kept.write_bytes(kept.read_bytes().replace(b"source", b"stored"))
    assert imported(library, keep=False) == "stored"


def test_bytecode_of_an_older_source_is_not_used(library: Path) -> None:
    imported(library, keep=True)
    (library / "library" / "library.py").write_text("value = 'newer source'\n")
    assert imported(library, keep=False) == "newer source"


def test_a_library_that_has_bytecode_lacks_none(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(library / "library")
    assert lack(["library"])
    made = Path(importlib.util.cache_from_source(str(library / "library" / "library.py")))
    made.parent.mkdir()
    made.touch()
    assert not lack(["library"])
