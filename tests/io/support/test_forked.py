"""A verb is forked only where a Python that is started would have the same modules and settings."""

import os
from pathlib import Path

from tests.places import ROOT
from tests.support.daemon.forked import run_kpd


def test_other_modules_and_what_is_read_at_an_import_have_a_python_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('mine')")

    def said(**env: str) -> tuple[str, str]:
        done = run_kpd("--version", env={**os.environ, **env})
        return done.args[0], done.stdout.partition("\n")[0]

    forked = said()
    assert (forked[0], forked[1][:4]) == ("kpd", "kpd ")
    assert said(PYTHONPATH=str(ROOT)) == forked, "they are the same modules"
    assert said(ANTHROPIC_LOG="of nobody else")[0] != "kpd"
    there = said(PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    assert (there[0] != "kpd", there[1]) == (True, "mine")
