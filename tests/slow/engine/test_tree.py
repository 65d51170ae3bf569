"""A candidate that adds a unit and a header and removes a file, on a real daemon: it wins, and is rolled back."""

import pytest

from kpd.client import DaemonError
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.e2e.kernels import kernel

__all__ = ["daemon", "workspace"]

OWN = '#include "src/repeat.h"\n'
NEW = {"src/impl.h": '#include "fast/new.h"\n', "src/fast/new.h": "#define REPEAT 1\nint unit(void);\n"}
UNIT = '#include "src/fast/new.h"\nint unit(void) { return REPEAT; }\n'
MEMO = "MEMO: fewer repeats\nREMOVE: src/repeat.h\n"


def prepare(workspace: Workspace) -> None:
    """Let the kernel include a header of src/, which is all that may change; and prepare a candidate."""
    folder = workspace.tasks / "scale"
    text = kernel(workspace).read_text()
    assert "#define REPEAT 8" in text
    kernel(workspace).write_text(text.replace("#define REPEAT 8", '#include "src/impl.h"'))
    toml = folder / "task.toml"
    toml.write_text(
        toml.read_text().replace('editable = ["kernel.c", "build.json"]', 'editable = ["src/", "build.json"]')
    )
    candidate = workspace.root / "candidates" / "1"
    files = {folder / "src/impl.h": OWN, folder / "src/repeat.h": "#define REPEAT 8\n", candidate / "memo.md": MEMO}
    files |= {candidate / path: text for path, text in {**NEW, "src/unit.c": UNIT}.items()}
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def sources(workspace: Workspace) -> dict[str, str]:
    folder = workspace.tasks / "scale"
    return {path.relative_to(folder).as_posix(): path.read_text() for path in (folder / "src").rglob("*.*")}


def test_a_tree_is_accepted_and_rolled_back(daemon: RealDaemon, workspace: Workspace) -> None:
    prepare(workspace)
    before = sources(workspace)
    daemon.start()
    daemon.command("run", task="scale", agent="script:candidates", iterations=1)
    ended = daemon.until_event("iteration_ended", iteration=1)["body"]
    assert ended["outcome"] == "accepted", ended
    daemon.until_event("run_ended")
    assert sources(workspace) == {**NEW, "src/unit.c": UNIT}
    remembered = (workspace.memory / "scale.md").read_text()
    named = ("src/fast/new.h (new)", "src/impl.h", "src/repeat.h (removed)", "src/unit.c (new)")
    assert f"\n- files: {', '.join(named)}\n" in remembered
    best = workspace.run_folder("scale", "r1") / "best"
    assert sorted(path.name for path in best.rglob("*.*")) == ["build.json", "impl.h", "new.h", "unit.c"]
    text = daemon.query("diff", iteration="r1.1")["text"]
    assert "--- r1.0/src/repeat.h\n+++ /dev/null\n" in text
    assert "--- /dev/null\n+++ r1.1/src/unit.c\n" in text
    daemon.command("rollback", iteration="r1.0")
    assert sources(workspace) == before
    mine = workspace.tasks / "scale" / "src" / "mine.h"
    mine.write_text("int mine;\n")
    with pytest.raises(DaemonError, match=r"src/mine.h was edited since"):
        daemon.command("undo", run="r1")
    mine.unlink()
    daemon.command("undo", run="r1")
    assert sources(workspace) == {**NEW, "src/unit.c": UNIT}
