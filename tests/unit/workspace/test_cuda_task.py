"""Tasks in CUDA: two files, or one with two sections."""

from pathlib import Path

import pytest

from kpd.workspace.task import TaskError, load_task

CUDA = """\
[task]
name = "flip"
language = "cuda"
editable = ["kernel.cu"]

[build]
flags = ["-DFAST=1"]

[profile]
kernel = "^flip"
"""
SECTIONS = """\
// ===== KERNEL SECTION =====
// ===== END KERNEL SECTION =====
// ===== HARNESS SECTION =====
// ===== END HARNESS SECTION =====
"""


@pytest.fixture
def flip(tmp_path: Path) -> Path:
    home = tmp_path / "flip"
    home.mkdir()
    (home / "kernel.cu").write_text("// a kernel\n")
    (home / "harness.cu").write_text("// a harness\n")
    (home / "task.toml").write_text(CUDA)
    return home


def test_a_cuda_task_in_two_files(flip: Path) -> None:
    task = load_task(flip)
    assert (task.language, task.editable, task.protected) == ("cuda", ("kernel.cu",), ("harness.cu", "task.toml"))
    assert (task.sectioned, task.build.flags, task.profile.kernel) == ("", ("-DFAST=1",), "^flip")


@pytest.mark.parametrize("name", ["kernel.cu", "flip.cu"])
def test_a_cuda_task_in_one_file(flip: Path, name: str) -> None:
    (flip / "harness.cu").unlink()
    (flip / "kernel.cu").unlink()
    (flip / name).write_text(SECTIONS)
    (flip / "task.toml").write_text(CUDA.replace("kernel.cu", name))
    task = load_task(flip)
    assert (task.sectioned, task.editable, task.protected) == (name, (name,), ("task.toml",))


def lacks(flip: Path, *names: str) -> None:
    for name in names:
        (flip / name).unlink()


def one_file(flip: Path, text: str = SECTIONS) -> None:
    (flip / "one.cu").write_text(text)
    (flip / "task.toml").write_text(CUDA.replace("kernel.cu", "one.cu"))


WRONG_CUDA = {
    "no harness": (lambda flip: lacks(flip, "harness.cu"), "harness.cu: no such file; a task in cuda needs it"),
    "an editable harness": (
        lambda flip: (flip / "task.toml").write_text(CUDA.replace("kernel.cu", "harness.cu")),
        "task.toml:4: editable file 'harness.cu' judges the candidate",
    ),
    "neither form": (
        lambda flip: (one_file(flip, "// nothing\n"), lacks(flip, "kernel.cu", "harness.cu")),
        "flip: no kernel.cu and harness.cu, and no editable .cu file with a kernel and a harness section",
    ),
    "both forms": (
        lambda flip: (one_file(flip), lacks(flip, "kernel.cu")),
        "one.cu: has a section's mark, and harness.cu is there, too; keep one of them",
    ),
    "marks in disorder": (
        lambda flip: (one_file(flip, SECTIONS.replace("END KERNEL", "KERNEL")), lacks(flip, "kernel.cu", "harness.cu")),
        "one.cu:2: 'KERNEL SECTION' where 'END KERNEL SECTION' should be; mark one kernel and one harness section",
    ),
    "no regular expression": (
        lambda flip: (flip / "task.toml").write_text(CUDA.replace("^flip", "(flip")),
        "task.toml:10: 'kernel' in [profile] is no regular expression: missing )",
    ),
}


@pytest.mark.parametrize("what", WRONG_CUDA)
def test_cuda_tasks_that_are_refused(flip: Path, what: str) -> None:
    spoil, message = WRONG_CUDA[what]
    spoil(flip)
    with pytest.raises(TaskError) as caught:
        load_task(flip)
    assert message in f"{caught.value}; {caught.value.remedy}"
