"""A task whose editable files are not there yet: what a candidate may have."""

from pathlib import Path

import pytest

from kpd.workspace.candidate_tree import read_tree
from kpd.workspace.task import TaskError, load_task

TOML = """\
[task]
name = "t"
language = "command"
editable = ["src/solution.py", "notes.md"]
baseline = "absent"
[bench]
command = "./bench"
"""


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    (tmp_path / "t").mkdir()
    for name in ("bench", "notes.md"):
        (tmp_path / "t" / name).write_text(name)
    (tmp_path / "t" / "task.toml").write_text(TOML)
    return tmp_path / "t"


def test_a_candidate_has_to_add_the_file_and_may_not_lack_it_later(folder: Path) -> None:
    task = load_task(folder)
    assert (task.editable, task.protected) == (("notes.md",), ("bench", "task.toml"))
    assert task.told == "notes.md, src/solution.py"
    assert task.allows("src/solution.py") and not task.allows("src/other.py")
    assert not task.may_remove("src/solution.py")
    assert list(read_tree(folder, task)) == ["notes.md"]
    (folder / "src").mkdir()
    (folder / "src" / "solution.py").write_text("right = True\n")
    assert list(read_tree(folder, task)) == ["notes.md", "src/solution.py"]


@pytest.mark.parametrize("baseline", ["right", "wrong"])
def test_files_that_are_not_there_need_the_word_absent(folder: Path, baseline: str) -> None:
    (folder / "task.toml").write_text(TOML.replace("absent", baseline))
    with pytest.raises(TaskError, match=r"'src/solution.py' does not exist"):
        load_task(folder)


def test_no_command_may_run_a_file_that_a_candidate_adds(folder: Path) -> None:
    (folder / "task.toml").write_text(TOML.replace("./bench", "python3 src/solution.py"))
    with pytest.raises(TaskError, match=r"runs 'src/solution.py', which an agent may edit"):
        load_task(folder)
