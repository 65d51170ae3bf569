"""What processes note of phases: how one ended, which tasks they made of what, and who holds the rows."""

import os
from pathlib import Path

import pytest

from kpd.agents.answers import KeptAnswer
from kpd.model.preparation import PhaseResult
from kpd.workspace.project_runs import ProjectBusy, ProjectRuns

FAILED = PhaseResult(failed="there already")


def test_the_last_end_of_a_phase_counts_and_none_of_a_former_log(tmp_path: Path) -> None:
    path = tmp_path / "refs" / "p.runs.jsonl"
    rows = ProjectRuns(path)
    assert rows.holder is None
    with rows.locked():
        assert rows.holder == os.getpid()
        rows.begins("r1", "check")
        assert rows.ended("r1", "check", 0.0) is None, "as where the process was killed"
        rows.ends("r1", "check", PhaseResult(lacks=("ncu: none",)), 2.5)
        with pytest.raises(ProjectBusy), ProjectRuns(path).locked():
            pass
    assert rows.holder is None
    assert rows.ended("r1", "check", 0.0) == (PhaseResult(lacks=("ncu: none",)), 2.5)
    assert (rows.ended("r1", "observe", 0.0), rows.ended("r2", "check", 0.0)) == (None, None)
    assert rows.ended("r1", "check", 2e10) is None, "it is of a run of a former log with that id"
    with path.open("a") as file:
        file.write('{"at": 2e10, "run": "r1", "ends": "check", "result": "somebody\'s", "seconds": 1}\n')
    assert rows.ended("r1", "check", 0.0) == (PhaseResult(lacks=("ncu: none",)), 2.5)
    with pytest.raises(BlockingIOError), rows.locked():
        raise BlockingIOError("of the work, not of the lock")


def test_answers_are_those_of_one_run_in_their_order(tmp_path: Path) -> None:
    rows = ProjectRuns(tmp_path / "p.runs.jsonl")
    assert rows.answers("r1", 0.0, dict) == []
    for run, said in (("r1", "one"), ("r2", "other"), ("r1", "two")):
        rows.answered(run, prompt="p", text=said, stop="end")
    with (tmp_path / "p.runs.jsonl").open("a") as file:
        file.write(
            '{"at": 2e9, "run": "r1", "answer": "somebody\'s"}\n{"at": 2e9, "run": "r1", "answer": {"prompt": "p"}}\n'
        )
    assert [one.text for one in rows.answers("r1", 0.0, KeptAnswer)] == ["one", "two"]
    assert rows.answers("r1", 3e9, KeptAnswer) == [], "they are of a run of a former log with that id"


def test_a_task_is_found_by_what_it_was_to_be_made_of(tmp_path: Path) -> None:
    rows = ProjectRuns(tmp_path / "p.runs.jsonl")
    assert (rows.tasks_of("k1"), rows.tasks) == ([], [])
    for task, key in (("p", "k1"), ("p-2", "k2"), ("p-3", "k1")):
        rows.begins("r1", "task")
        rows.makes("r1", task, key)
        rows.ends("r1", "task", PhaseResult(task=task), 1.0)
    rows.makes("r2", "mine", "k1")
    rows.ends("r2", "task", FAILED, 1.0)
    rows.makes("r3", "p-4", "k1")  # and then its process was killed
    assert rows.tasks_of("k1") == ["p-4", "p-3", "p"], "a task that was there already is not one that was made"
    assert rows.tasks == ["p", "p-2", "p-3", "p-4"]
