"""A small task in C: its folder, and how a test changes its task.toml."""

from pathlib import Path

import pytest

TOML = """\
[task]
name = "scale"
summary = "y = 2x"
language = "c"
editable = ["kernel.c", "build.json"]

[tune]
TILE = [8, 16, 32]
flags = ["-O2", "-O3"]

[roofline]
bytes = "n*8"

[budget]
patience = 9
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "tasks" / "scale"
    home.mkdir(parents=True)
    for name in ("kernel.c", "build.json", "harness.c"):
        (home / name).write_text(name)
    (home / "task.toml").write_text(TOML)
    return home


def change(folder: Path, old: str, new: str) -> None:
    assert old in TOML
    (folder / "task.toml").write_text(TOML.replace(old, new))
