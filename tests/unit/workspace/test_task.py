"""The task contract: what a folder must hold, and every refusal with its line."""

import os
from pathlib import Path

import pytest

from kpd.measure.driver.harness import Harness, HarnessCase, refuse_mismatch
from kpd.model.budget import Budget
from kpd.workspace.paths import Workspace
from kpd.workspace.specs import BudgetSpec
from kpd.workspace.task import TaskError, card, find_tasks, load_task
from tests.support.workspace.scale_task import change, folder

__all__ = ["folder"]


def test_a_whole_task(folder: Path) -> None:
    (folder / "inc").mkdir()
    (folder / "inc" / "b.h").touch()
    for ignored in (".kernel.c.swp", "kernel.c~", "#kernel.c#", "kernel.c.orig", "x.tmp"):
        (folder / ignored).touch()
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").touch()
    task = load_task(folder)
    assert task.editable == ("kernel.c", "build.json")
    assert task.protected == ("harness.c", "task.toml", "inc/b.h")
    assert task.tune == {"TILE": ("8", "16", "32"), "flags": ("-O2", "-O3")}
    assert task.roofline.bytes is not None
    assert task.roofline.bytes.evaluate({"n": 4}) == 32
    assert task.roofline.flops is None
    assert task.budget.over(Budget()) == Budget(patience=9)
    assert (card(task).name, card(task).tunable, card(task).error) == ("scale", 6, "")


def test_cases_have_weights_and_a_floor(folder: Path) -> None:
    assert (load_task(folder).weights, load_task(folder).accept.worst_case) == ({}, 0.95)
    change(folder, "[budget]", "[cases.large-4096]\nweight = 2.5\n\n[accept]\nworst_case = 0\n\n[budget]")
    task = load_task(folder)
    assert (task.weights, task.accept.worst_case) == ({"large-4096": 2.5}, 0)


@pytest.mark.parametrize("wrong", ["[cases.a]\nweight = 0", "[accept]\nworst_case = 1.01", "[cases.a]\nshare = 1"])
def test_refused_weights_and_floors(folder: Path, wrong: str) -> None:
    change(folder, "[budget]", f"{wrong}\n\n[budget]")
    with pytest.raises(TaskError, match=r"task.toml:\d+"):
        load_task(folder)


def test_a_task_with_its_own_benchmark_has_its_score_or_weighs_its_cases(folder: Path) -> None:
    change(folder, 'language = "c"', 'language = "command"')
    toml = (folder / "task.toml").read_text() + '\n[bench]\ncommand = "./bench"\n'
    (folder / "task.toml").write_text(toml)
    own = load_task(folder)
    assert (own.own_score, card(own).score, own.weights) == ("best_us", "best_us", {})
    (folder / "task.toml").write_text(f"{toml}\n[cases.a]\nweight = 2\n")
    weighed = load_task(folder)
    assert (weighed.own_score, card(weighed).score, weighed.weights) == ("", "us", {"a": 2.0})
    (folder / "task.toml").write_text(f'{toml}direction = "higher"\n\n[cases.a]\nweight = 2\n')
    with pytest.raises(TaskError, match=r"\[cases\] has weights, so the score is a time") as caught:
        load_task(folder)
    assert caught.value.remedy == "remove [cases], or let the benchmark print times"


def test_weights_are_for_cases_that_the_harness_times(folder: Path) -> None:
    change(folder, "[budget]", "[cases.large]\nweight = 2\n\n[budget]")
    task = load_task(folder)
    small, checked = HarnessCase("small", {}, {}), HarnessCase("large", {}, {}, timed=False)
    refuse_mismatch(task, Harness("bench", "f", (small, HarnessCase("large", {}, {}))))
    with pytest.raises(TaskError, match=r"\[cases.large\] is not a case that the harness times") as caught:
        refuse_mismatch(task, Harness("bench", "f", (small, checked)))
    assert caught.value.remedy == "its timed cases are small"


def test_budget_overrides_are_optional() -> None:
    assert BudgetSpec().over(Budget(iterations=3)) == Budget(iterations=3)
    assert BudgetSpec(stop_score=1.5, min_gain_pct=0.0).over(Budget()) == Budget(stop_score=1.5, min_gain_pct=0.0)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('name = "scale"', 'name = "other"', 2, "the name 'other' is not that of its folder, 'scale'"),
        ('name = "scale"', 'name = "../scale"', 2, "is not plain"),
        ('language = "c"', 'language = "fortran"', 4, "unknown language 'fortran'; known are c"),
        ('"kernel.c", ', '"../kernel.c", ', 5, "'../kernel.c' leaves the folder"),
        ('"kernel.c", ', '"/etc/passwd", ', 5, "'/etc/passwd' is absolute"),
        ('"kernel.c", ', '"absent.c", ', 5, "'absent.c' does not exist"),
        ('"kernel.c", ', '"build.json", ', 5, "'build.json' appears twice"),
        ('"kernel.c", ', '"harness.c", ', 5, "'harness.c' judges the candidate"),
        ('"kernel.c", ', '"task.toml", ', 5, "'task.toml' judges the candidate"),
        ('"kernel.c", ', '"-o", ', 5, "a name that tools trip over"),
        ('["kernel.c", "build.json"]', "[]", 5, "not empty"),
        ('["kernel.c", "build.json"]', '"kernel.c"', 5, "must be a list"),
        ("TILE = [8, 16, 32]", "TILE = []", 8, "'TILE' in [tune] has no values"),
        ("TILE = [8, 16, 32]", "TILE = [8, [1]]", 8, "not [8, [1]]"),
        ("TILE = [8, 16, 32]", 'TILE = [8, "8"]', 8, "has a value twice"),
        ("TILE = [8, 16, 32]", '"a-b" = [8]', 8, "is not an identifier"),
        ("TILE = [8, 16, 32]", 'TILE = ["a\\nb"]', 8, "control character"),
        ('"n*8"', '"n**8"', 12, "'bytes' in [roofline]: 'n ** 8' is not allowed"),
        ("patience = 9", "patience = 0", 15, "'patience' in [budget] must be an integer"),
        ("[budget]", "[bench]\nquads = 257\n[budget]", 15, "at most 256"),
        ("patience = 9", "euro = 9", 15, "unknown key 'euro' in [budget]"),
        ("[tune]", "[tunes]", 7, "unknown table 'tunes'; did you mean 'tune'?"),
        ("[tune]", "[tune", 7, "not TOML"),
    ],
)
def test_refusals(folder: Path, old: str, new: str, line: int, message: str) -> None:
    change(folder, old, new)
    with pytest.raises(TaskError) as caught:
        load_task(folder)
    assert str(caught.value).startswith(f"{folder / 'task.toml'}:{line}: ")
    assert message in str(caught.value)


def test_links_that_leave_the_folder_are_refused(folder: Path) -> None:
    outside = folder.parent.parent / "secret.c"
    outside.write_text("secret")
    (folder / "kernel.c").unlink()
    (folder / "kernel.c").symlink_to(outside)
    with pytest.raises(TaskError, match=r"task.toml:5: editable path 'kernel.c' leads out of the folder"):
        load_task(folder)
    (folder / "kernel.c").unlink()
    (folder / "kernel.c").touch()
    (folder / "common.h").symlink_to(outside)
    with pytest.raises(TaskError, match=r"common.h: a link that leads out of the task's folder"):
        load_task(folder)
    (folder / "common.h").unlink()
    (folder / "inc").symlink_to(folder.parent.parent)
    with pytest.raises(TaskError, match="inc: a link that leads out"):
        load_task(folder)


def test_a_link_to_a_file_of_the_same_task_is_protected(folder: Path) -> None:
    (folder / "alias.h").symlink_to("harness.c")
    assert "alias.h" in load_task(folder).protected


def test_missing_files_and_folders(folder: Path) -> None:
    (folder / "harness.c").unlink()
    with pytest.raises(TaskError, match=r"harness.c: no such file; a task in c needs it"):
        load_task(folder)
    (folder / "harness.c").touch()
    (folder / "kernel.c").unlink()
    os.mkfifo(folder / "kernel.c")
    with pytest.raises(TaskError, match=r"'kernel.c' is not a regular file"):
        load_task(folder)
    (folder / "task.toml").unlink()
    with pytest.raises(TaskError, match=r"task.toml: no such file"):
        load_task(folder)
    with pytest.raises(TaskError, match="no such task folder; kpd task list"):
        load_task(folder.parent / "absent")


def test_a_workspaces_task_stands_before_a_shipped_one(folder: Path) -> None:
    ws = Workspace(folder.parent.parent)
    assert find_tasks(ws)["scale"] == folder
    for name, path in find_tasks(ws).items():
        assert path.name == name
        assert (path / "task.toml").exists()
