"""Writes small folders in the formats of others."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kpd.cli.main import main


def written(folder: Path, files: Mapping[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def imported(root: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any], str]:
    """Import with `kpd task import --json`; return the exit code, what it printed, and what it narrated."""
    capsys.readouterr()
    code = main(["-w", str(root), "task", "import", "--json", *words])
    told = capsys.readouterr()
    return code, json.loads(told.out) if told.out else {}, told.err
