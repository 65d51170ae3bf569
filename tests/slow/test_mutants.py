"""The mutation job on a small module, as `make mutants` runs it."""

import json
import subprocess
import sys
from pathlib import Path

from tests.places import ROOT

WEAK = "from kpd.model.scores import unit\n\n\ndef test_the_unit() -> None:\n    assert unit() == 'µs'\n"


def test_survivors_are_shown_and_counted(tmp_path: Path) -> None:
    def run(*more: object) -> tuple[int, list[str], dict[str, object]]:
        command = [sys.executable, "-m", "benchmarks.mutants", *map(str, more), "kpd/model/scores.py"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        *lines, figures = done.stdout.splitlines()
        return done.returncode, lines, json.loads(figures)

    status, lines, figures = run()
    assert (status, lines) == (0, [])
    assert figures["killed"] == figures["mutants"]
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "test_weak.py").write_text(WEAK)
    status, lines, figures = run("--among", tmp_path)
    assert status == 1
    assert len(lines) == figures["survived"]
    assert any("score <= stop  ->  score < stop" in line for line in lines)
    assert run("--minutes", 0)[2]["not tried"] == figures["mutants"]
