"""What was done for a project before its runs: what a kill has cut off has no end, and what was made is found."""

from pathlib import Path

import pytest

from kpd.workspace.project_runs import ProjectBusy, ProjectRuns
from kpd.workspace.rows import rows_of


def test_a_phase_ends_with_what_it_found_or_why_it_failed(tmp_path: Path) -> None:
    path = tmp_path / "refs" / "p.runs.jsonl"
    rows = ProjectRuns(path)
    with rows.locked():
        with rows.phase("observe") as ended:
            ended["anew"] = True
        with pytest.raises(ValueError, match="no such kernel"), rows.phase("task", task="p", key="k1"):
            raise ValueError("no such kernel")
        with pytest.raises(ProjectBusy), ProjectRuns(path).locked():
            pass
    with pytest.raises(BlockingIOError), rows.locked():
        raise BlockingIOError("of the work, not of the lock")
    found = [{name: value for name, value in row.items() if name != "at"} for row in rows_of(path)]
    assert found == [
        {"begins": "observe"}, {"ends": "observe", "anew": True},
        {"begins": "task", "task": "p", "key": "k1"}, {"ends": "task", "failed": "no such kernel"},
    ]  # fmt: skip


def test_a_task_is_found_by_what_it_was_to_be_made_of_and_a_run_also_without_its_id(tmp_path: Path) -> None:
    rows = ProjectRuns(tmp_path / "p.runs.jsonl")
    assert (rows.tasks_of("k1"), rows.last_run) == ([], None)
    for task, key in (("p", "k1"), ("p-2", "k2"), ("p-3", "k1")):
        with rows.phase("task", task=task, key=key):
            pass
    with pytest.raises(ValueError), rows.phase("task", task="mine", key="k1"):
        raise ValueError("there already")
    with pytest.raises(KeyboardInterrupt), rows.phase("task", task="p-4", key="k1"):
        raise KeyboardInterrupt  # as where the process is killed: nothing is noted of its end
    assert rows.tasks_of("k1") == ["p-4", "p-3", "p"], "a task that was there already is not one that was made"
    with rows.phase("run", task="p") as ended:
        ended["run"] = "r1"
    first = rows.last_run
    assert first is not None and (first["task"], first["run"]) == ("p", "r1")
    with pytest.raises(KeyboardInterrupt), rows.phase("run", task="p-3"):
        raise KeyboardInterrupt
    last = rows.last_run
    assert last is not None and (last["task"], "run" in last, last["at"] > first["at"]) == ("p-3", False, True)
