"""`kpd tools`: what agents called, without a value of it, and how their trials ended."""

import json
from pathlib import Path

import pytest

from kpd.cli.main import main
from kpd.model import events as e
from kpd.model.kinds import Told
from kpd.model.toolbox import OF_EVERY, ToolCheck
from kpd.model.verdicts import Gain, Verdict
from kpd.tools.files import keep, read_tool, shelf
from tests.support.e2e.desk_place import Place
from tests.support.tools.built import SKILL, as_bytes

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
    assert main([*own, "r7"]) == 64 == main([*own, "qualifi"])
    assert "'qualifi' is neither a run nor one of list, show, qualify," in capsys.readouterr().err
    assert main([*own, "import", str(tmp_path / "nowhere"), "--task", "scale"]) == 64
    assert "nowhere is no folder" in capsys.readouterr().err
    place.store.close()


def test_built_tools_are_listed_with_the_sessions_that_had_and_used_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Place(tmp_path / "w")
    (place.workspace.root / "tasks").mkdir()
    own = ["-w", str(place.workspace.root), "tools"]
    assert main([*own, "list"]) == 0
    assert "--evolve" in capsys.readouterr().err
    files = as_bytes(SKILL)
    version = keep(place.workspace, "loop-notes", files)
    checks = tuple(ToolCheck(name, True) for name in sorted({*OF_EVERY, "skill"}))
    for fact in (
        e.ToolBuilt("loop-notes", version, "scale", {}, "loops", skill=True, run="r1", iteration=1),
        e.ToolChecked("loop-notes", version, checks),
        e.ToolsGiven("r1", 1, "r1.1", (f"loop-notes@{version}",)),
        e.ToolsGiven("r1", 2, "r1.2", (f"loop-notes@{version}",)),
        e.ToolCalled("r1", 2, "loop-notes", "count", False, 5.0),
        e.SkillsRead("r1", 1, "r1.1", (f"loop-notes@{version}", "memory-bound")),
    ):
        place.journal.emit(fact)
    assert main([*own, "list"]) == 0
    row = [f"loop-notes@{version[:12]}", "qualified", "scale", "r1.1", "1", "1", "2", "2", "loops"]
    assert row in [line.split() for line in capsys.readouterr().out.splitlines()]
    assert main([*own, "show", "loop-notes"]) == 0
    assert "2, of which 2 used it: 1 calls, 1 failed, 1 read its skill" in capsys.readouterr().out
    assert main(own) == 0
    assert ["r1", "memory-bound", "1"] in [line.split() for line in capsys.readouterr().out.splitlines()]
    assert main([*own, "list", "--why", "slow"]) == 64 == main([*own, "show", "loop-notes", "--task", "scale"])
    (shelved := shelf(place.workspace, "loop-notes", version)).rename(aside := tmp_path / "aside")
    assert main([*own, "export", str(tmp_path / "out"), f"loop-notes@{version[:12]}"]) != 0
    aside.rename(shelved)
    assert main([*own, "export", str(tmp_path / "out")]) == 0, "nothing of the first try is left"
    assert read_tool(tmp_path / "out" / "loop-notes") == dict(sorted(files.items()))
    assert main([*own, "show", "lint"]) == 64
    place.store.close()


def test_a_tool_whose_attempts_rank_lower_is_suggested_for_retirement_with_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Place(tmp_path / "w")
    (place.workspace.root / "tasks").mkdir()
    version = keep(place.workspace, "loop-notes", as_bytes(SKILL))
    checks = tuple(ToolCheck(name, True) for name in sorted({*OF_EVERY, "skill"}))
    facts: list[e.Fact] = [
        e.ToolBuilt("loop-notes", version, "scale", {}, "loops", skill=True),
        e.ToolChecked("loop-notes", version, checks),
    ]
    for number in range(3, 13):
        at, having = ("r1", number), number % 2
        facts += [e.IterationStarted(*at, "mine", 1), e.SessionOpened(*at, f"r1.{number}", ("mine",), 60.0)]
        facts += [e.ToolsGiven(*at, f"r1.{number}", (f"loop-notes@{version}",))] if having else []
        gain = 1.0 + 0.1 * number if having else 9.0 + 0.1 * number
        verdict = Verdict("same", Gain(gain, gain, gain), 7, False, "same", 1.0)
        facts += [e.Judged(*at, 0.1, 0.1, verdict), e.IterationEnded(*at, "rejected", Told("slower"))]
    own = ["-w", str(place.workspace.root), "tools", "show", "loop-notes"]
    for fact in facts[:-2]:
        place.journal.emit(fact)
    assert main(own) == 0
    assert "kpd tools retire" not in capsys.readouterr().out, "four attempts without it are too few"
    for fact in facts[-2:]:
        place.journal.emit(fact)
    assert main(own) == 0
    told = capsys.readouterr().out
    assert "with it   5 attempts, 0 accepted, median gain 1.7 % of 5 measured" in told
    assert "without   5 attempts, 0 accepted, median gain 9.8 % of 5 measured" in told
    assert f"kpd tools retire loop-notes@{version[:12]}" in told and "% of cases" in told
    place.store.close()
