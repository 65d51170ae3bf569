"""kpd init and kpd task: what they make, what they leave alone, and what they find wrong."""

import subprocess
from pathlib import Path

import pytest

from kpd.cli.main import main
from tests.places import ROOT
from tests.support.cli.roots import root

__all__ = ["root"]


def test_a_new_task_passes_the_static_check_and_is_plain_c(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-w", str(root), "task", "new", "mine"]) == 0
    folder = root / "tasks" / "mine"
    assert capsys.readouterr().out == f"{folder}\n"
    assert main(["-w", str(root), "task", "check", "--static", "mine"]) == 0
    assert capsys.readouterr().out == "✓ mine\n"
    header = ROOT / "kpd" / "measure" / "native"
    for source in ("harness.c", "kernel.c"):
        command = [
            "cc",
            "-std=c99",
            "-Wall",
            "-Wextra",
            "-Wno-missing-field-initializers",  # what a buffer leaves out is 0
            "-Werror",
            "-fsyntax-only",
            f"-I{header}",
            str(folder / source),
        ]
        subprocess.run(command, check=True)
