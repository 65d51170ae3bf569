"""The task `scale` with times that are told instead of taken: the kernel says how long it takes.

For what a run does with a verdict, and not how one comes about: nothing is compiled, and no run is disturbed by others.
As in the real task fewer repeats are quicker, none are wrong, and a word is no kernel at all.
"""

import pytest

from kpd.workspace.paths import Workspace

TASK = """\
[task]
name = "scale"
summary = "y = 2 x, needlessly often"
language = "command"
editable = ["kernel.c", "build.json"]

[bench]
command = "sh benchmark.sh"

[budget]
iterations = 2
patience = 2

[tune]
REPEAT = [8, 1]
"""
BENCHMARK = """sed -n 's/^#define REPEAT \\([0-9]*\\)$/{"ok": true, "best_us": \\1}/p' kernel.c\n"""


def last(workspace: Workspace, seconds: float) -> None:
    """Have each run of a benchmark last this long, so that something can happen meanwhile."""
    for benchmark in workspace.tasks.glob("*/benchmark.sh"):
        benchmark.write_text(f"sleep {seconds}\n{BENCHMARK}")


@pytest.fixture
def told_times(workspace: Workspace) -> None:
    folder = workspace.tasks / "scale"
    (folder / "harness.c").unlink()
    (folder / "task.toml").write_text(TASK)
    (folder / "benchmark.sh").write_text(BENCHMARK)
