"""What people or programs put where skills and memories are read: nothing makes a reader wait, all of it is said."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kpd.daemon import knowledge_views
from kpd.knowledge import memory, patterns
from kpd.knowledge.skills import load_skills
from kpd.knowledge.summary import read_summary
from kpd.model.budget import Budget
from kpd.model.iteration import Iteration
from kpd.model.kinds import Told
from kpd.model.run import Run
from kpd.wire import DaemonError
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import MOST_BYTES, NotRegularFile

PATIENCE_S = 10


def _waited(number: int, frame: object) -> None:
    raise AssertionError("the reader waits for a writer")


@pytest.fixture(autouse=True)
def impatient() -> Iterator[None]:
    """A read that waits for good fails the test instead of keeping the suite."""
    before = signal.signal(signal.SIGALRM, _waited)
    signal.alarm(PATIENCE_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    for name in ("skills", "memory"):
        (tmp_path / name).mkdir()
    return Workspace(tmp_path)


def _large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(MOST_BYTES + 1)


Put = Callable[[Path], object]
HOSTILE: list[tuple[Put, str]] = [
    (os.mkfifo, "not a regular file"),
    (Path.mkdir, "not a regular file"),
    (_large, "larger than 16 MiB"),
]
ENDLESS: tuple[Put, str] = (lambda path: path.symlink_to("/dev/zero"), "not a regular file")


@pytest.mark.parametrize(("put", "reason"), [*HOSTILE[:2], ENDLESS])
def test_a_skill_that_is_no_file_is_a_warning_and_the_others_are_read(
    workspace: Workspace, put: Put, reason: str
) -> None:
    put(workspace.skills / "low_ipc.md")
    found = load_skills(workspace)
    assert found.bad == {"low_ipc.md": f"skills/low_ipc.md: {reason} (the shipped skill holds)"}
    assert found.by_id == load_skills().by_id
    put(workspace.skills / "mine.md")
    with pytest.raises(DaemonError, match=rf"skills/mine\.md: {reason}"):
        knowledge_views.skill(workspace, "mine")


@pytest.mark.parametrize(("put", "reason"), HOSTILE)
def test_a_memory_that_is_no_file_is_named_with_what_to_do(workspace: Workspace, put: Put, reason: str) -> None:
    path = workspace.memory / "scale.md"
    put(path)
    with pytest.raises(DaemonError) as caught:
        knowledge_views.memory_of(workspace, "scale")
    assert caught.value.message == f"cannot read {path}: {reason}"
    assert caught.value.remedy.startswith("move it away")


@pytest.mark.parametrize(("put", "reason"), [*HOSTILE, ENDLESS])
def test_a_run_is_told_of_it_wherever_it_reads_or_writes(workspace: Workspace, put: Put, reason: str) -> None:
    run = Run("r1", "scale", "sweep", "local", Budget(), 0.0)
    for name, read in (
        ("scale.md", lambda: memory.past(workspace, "scale", "r1")),
        ("scale.md", lambda: memory.append(workspace, run, Iteration(1, "sweep", 0, 0.0), "failed", Told("why"))),
        ("scale.summary.md", lambda: read_summary(workspace, "scale")),
        ("PATTERNS.md", lambda: patterns.matching(workspace, ("low_ipc",), "x86", 1000)),
        ("PATTERNS.md", lambda: patterns.regenerate(workspace)),
    ):
        path = workspace.memory / name
        if not os.path.lexists(path):
            put(path)
        with pytest.raises(NotRegularFile, match=reason):
            read()


def test_line_ends_of_other_systems_and_bytes_that_are_no_text_are_read(workspace: Workspace) -> None:
    (workspace.memory / "scale.md").write_bytes(b"# What was tried\r\n\r\n## Avoid\r\n\r\n- \xff lanes\r\n")
    assert memory.guidance(workspace, "scale") == ("- � lanes", "")
    assert memory.read(workspace, "nothing", 100) == ""
