"""Skill files: the shipped ones, a workspace's own over them, and files that are no skills."""

from pathlib import Path

import pytest

from kpd.knowledge.skills import LARGEST, load_skills
from kpd.profile.catalogue import Kind, profiler_of
from kpd.workspace.paths import Workspace
from kpd.workspace.shipped import shipped

KINDS: tuple[Kind, ...] = ("cpu", "gpu")
LONGEST = 2000  # characters: what an agent's prompt takes of one
GOOD = "**Signal**: it is slow\n\n**Root causes**\n\n- a\n\n**Fixes**\n\n- b\n\n**Anti-patterns**\n\n- c\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "skills").mkdir()
    return Workspace(tmp_path)


@pytest.mark.parametrize("path", sorted(shipped("skills").glob("*.md")), ids=lambda path: path.stem)
def test_a_shipped_skill_is_short_enough_for_a_prompt(path: Path) -> None:
    assert len(path.read_text()) <= LONGEST


def test_a_workspace_overrides_and_adds(workspace: Workspace) -> None:
    (workspace.skills / "low_ipc.md").write_text(GOOD)
    (workspace.skills / "my_own.md").write_text(GOOD)
    (workspace.skills / "README.md").write_text("about skills")
    skills = load_skills(workspace)
    assert skills.bad == {}
    assert skills.by_id["low_ipc"].signal == skills.by_id["my_own"].signal == "it is slow"
    assert skills.by_id["low_ipc"].body.startswith("**Root causes**")
    assert "near_roofline" in skills.by_id
    assert "my_own: it is slow" in skills.catalogue().splitlines()


def test_a_workspace_without_skills_has_the_shipped_ones(tmp_path: Path) -> None:
    assert load_skills(Workspace(tmp_path)) == load_skills(None)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "line 1"),
        (b"# Low IPC\n" + GOOD.encode(), "line 1"),
        (GOOD.replace("**Fixes**", "**Cures**").encode(), "**Fixes**"),
        (GOOD.encode() + b"**Fixes**\n", "once"),
        (GOOD.replace("Root causes", "X").replace("Fixes", "Root causes").replace("X", "Fixes").encode(), "order"),
        (b"\xff\xfe" + GOOD.encode(), "UTF-8"),
        (GOOD.encode() + b"x" * LARGEST, "larger"),
    ],
)
def test_a_malformed_file_is_a_warning_and_the_shipped_skill_holds(
    workspace: Workspace, content: bytes, reason: str
) -> None:
    (workspace.skills / "low_ipc.md").write_bytes(content)
    skills = load_skills(workspace)
    (warning,) = skills.bad.values()
    assert warning.startswith("skills/low_ipc.md: ")
    assert reason in warning
    assert "shipped skill holds" in warning
    assert skills.by_id["low_ipc"] == load_skills().by_id["low_ipc"]


def test_a_bad_name_and_a_folder_are_warnings(workspace: Workspace) -> None:
    (workspace.skills / "Not A Rule.md").write_text(GOOD)
    (workspace.skills / "folder.md").mkdir()
    skills = load_skills(workspace)
    assert len(skills.bad) == 2
    assert "Not A Rule" not in skills.by_id


def test_the_catalogue_of_a_kind_of_device(workspace: Workspace) -> None:
    (workspace.skills / "my_own.md").write_text(GOOD)
    skills = load_skills(workspace)
    listed = {kind: {line.partition(":")[0] for line in skills.catalogue(kind).splitlines()} for kind in KINDS}
    for kind in KINDS:
        assert listed[kind] == {rule.id for rule in profiler_of(kind).rules} | {"my_own"}
    assert len(skills.catalogue().splitlines()) == len(skills.by_id)


def test_an_edit_is_seen_the_next_time(workspace: Workspace) -> None:
    assert "my_own" not in load_skills(workspace).by_id
    (workspace.skills / "my_own.md").write_text(GOOD)
    assert load_skills(workspace).by_id["my_own"].signal == "it is slow"
    (workspace.skills / "my_own.md").write_text(GOOD.replace("it is slow", "it is fast"))
    assert load_skills(workspace).by_id["my_own"].signal == "it is fast"
    (workspace.skills / "my_own.md").unlink()
    assert "my_own" not in load_skills(workspace).by_id
