"""What stands before ninja: what a check has built is not built again, by the real ninja."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kpd.measure.python.host import kept, ninja

RULES = """\
flags = -I{kernel}
rule copy
  command = echo $out >> log && cp $in $out && true $flags
build extension.so: copy {folder}/main.cpp
default extension.so
"""
VARIABLE = kept.CACHES[2].lower()


def process(job: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of a process, which has what the check kept, and stands before ninja; the extension's folder in it."""
    (job / name / "out").mkdir(parents=True)
    (job / "kernel.zip").write_bytes(b"kernel")
    monkeypatch.chdir(job / name)
    monkeypatch.setenv("PATH", f"{os.defpath}:{Path(sys.executable).parent}")
    ninja.install(job / name)
    kept.unpack()
    return job / name / kept.folder("../kernel.zip") / VARIABLE / "extension"


def build(folder: Path, source: str) -> tuple[int, str]:
    """Build as torch does. Return how often something was built there, and the result."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "main.cpp").write_text(source)
    (folder / ninja.RULES).write_text(
        RULES.format(folder=folder, kernel=folder.parents[3] / f"kernel{folder.parents[3].name}")
    )
    subprocess.run(["ninja", "-v", "-j", "2"], cwd=folder, check=True, capture_output=True)
    log = folder / "log"
    return len(log.read_text().splitlines()) if log.exists() else 0, (folder / "extension.so").read_text()


def test_what_a_check_has_built_is_there_in_a_process_of_a_contest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    extension = process(tmp_path, "check", monkeypatch)
    assert build(extension, "code") == (1, "code")
    assert build(extension, "code") == (1, "code")
    (extension / "log").unlink()
    assert kept.pack("../kernel.zip")
    monkeypatch.setenv(kept.GIVEN, str(Path.cwd() / kept.KEPT))

    extension = process(tmp_path, "process1", monkeypatch)
    assert build(extension, "code") == (0, "code"), "nothing is built"
    assert build(extension, "changed") == (1, "changed")
    assert build(extension, "code") == (2, "code"), "what is there was built from another source meanwhile"
    (extension / "extension.so").unlink()
    assert build(extension, "code") == (3, "code")


def test_all_else_is_left_to_ninja(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    extension = process(tmp_path, "check", monkeypatch)
    told = subprocess.run(["ninja", "--version"], check=True, capture_output=True, text=True).stdout
    assert re.fullmatch(r"\d+\.\d+.*\n", told)
    build(extension, "code")
    (extension / "main.cpp").write_text("if (")
    (extension / ninja.RULES).write_text(
        "rule fails\n  command = false\nbuild extension.so: fails\ndefault extension.so\n"
    )
    assert subprocess.run(["ninja", "-v"], cwd=extension, check=False, capture_output=True).returncode == 1
    assert subprocess.run(["ninja", "-v"], cwd=extension, check=False, capture_output=True).returncode == 1, "again"


def test_that_it_is_missing_is_told_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process(tmp_path, "check", monkeypatch)
    monkeypatch.setenv("PATH", f"{tmp_path / 'check' / ninja.PROGRAMS}:/nowhere")
    failed = subprocess.run(["ninja", "--version"], check=False, capture_output=True, text=True)
    assert (failed.returncode, "pip install ninja" in failed.stderr) == (127, True)
