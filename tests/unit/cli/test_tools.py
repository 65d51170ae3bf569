"""`kpd tools`: what agents called, without a value of it, and how their trials ended."""

import json
from pathlib import Path

import pytest

from kpd.cli.main import main
from kpd.model import events as e
from tests.support.e2e.desk_place import Place

CALLS = (
    e.ToolCalled("r1", 2, "kpd", "try", True, 4000.0, {"processes": 1}, 2048),
    e.ToolCalled("r1", 2, "kpd", "try", False, 10.0, {"processes": 2}, 0),
    e.ToolCalled("r1", 2, "own", "lint", True, 5.0),
    e.Tried("r1", 2, 1, "measured", 1, 3.5),
    e.Tried("r1", 2, 2, "not_built", 1),
)


def test_calls_are_summed_by_tool_and_trials_by_iteration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = Place(tmp_path / "w")
    (place.workspace.root / "tasks").mkdir()
    own = ["-w", str(place.workspace.root), "tools"]
    assert main(own) == 0
    assert "no agent has called a tool yet" in capsys.readouterr().err
    for fact in CALLS:
        place.journal.emit(fact)
    assert main([*own, "r1"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["r1", "kpd", "try", "2", "1", "2,005", "4,000", "2.0"] in rows
    assert ["r1", "own", "lint", "1", "0", "5", "5", "0.0"] in rows
    assert ["r1.2", "2", "3.5", "1", "measured,", "1", "not", "built"] in rows
    assert main([*own, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["calls"][0]["arguments"] == {"processes": 3}
    assert main([*own, "r7"]) == 64
    place.store.close()
