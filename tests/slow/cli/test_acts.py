"""What operators do to candidates, as verbs: real commands against a real daemon."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kpd.client import DaemonError
from kpd.workspace.paths import Workspace
from tests.support.daemon.forked import run_kpd
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.e2e.kernels import kernel, save
from tests.support.e2e.told import told_times

__all__ = ["daemon", "told_times", "workspace"]

pytestmark = pytest.mark.usefixtures("told_times")

Kpd = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def kpd(workspace: Workspace, tmp_path: Path) -> Iterator[Kpd]:
    """Run `kpd ARGS` on the workspace; an `editor` is a shell command, with the file as "$1"."""

    def run(*args: str, editor: str = "false") -> "subprocess.CompletedProcess[str]":
        script = tmp_path / "editor"
        script.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path / "opened"}\n{editor}\n')
        script.chmod(0o755)
        env = {**os.environ, "VISUAL": f"{script} ", "EDITOR": "false", "KPD_OPERATOR": "ada"}
        return run_kpd(args[0], "-w", str(workspace.root), *args[1:], env=env)

    yield run
    for path in kept(tmp_path):
        shutil.rmtree(path.parent)


def said(done: "subprocess.CompletedProcess[str]", code: int = 0) -> str:
    assert done.returncode == code, done.stderr
    return done.stderr


def kept(tmp_path: Path) -> list[Path]:
    """The copies that were opened in the editor and are still there; the test's to remove."""
    opened = tmp_path / "opened"
    return [path for path in map(Path, opened.read_text().splitlines()) if path.exists()] if opened.exists() else []


def test_a_candidate_that_waits_is_shown_and_approved(daemon: RealDaemon, kpd: Kpd) -> None:
    daemon.start()
    assert kpd("run", "scale", "--iterations", "1", "--approve").stdout == "r1\n"
    daemon.until_event("review_asked", iteration=1)
    daemon.until(lambda: daemon.query("status")["runs"]["r1"]["waiting"], "the run to say so")
    how = "r1.1 needs your approval: kpd diff r1.1, then kpd approve r1.1 or kpd decline r1.1"
    assert f"waits: {how}" in kpd("status").stdout
    assert "◔ your review" in kpd("status").stdout
    assert how in re.sub(r"\s+", " ", kpd("show", "r1.1").stdout)
    assert "+#define REPEAT 1" in kpd("diff", "r1.1").stdout
    daemon.command("pause")
    assert how in kpd("status").stdout
    daemon.command("resume")
    assert "r1.1 is approved" in said(kpd("approve"))
    assert "does not wait for a person" in said(kpd("decline", "r1.1"), 1)
    assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
    assert "needs your approval" not in kpd("status").stdout + kpd("show", "r1.1").stdout


def test_the_other_verbs(daemon: RealDaemon, workspace: Workspace, kpd: Kpd) -> None:
    daemon.start()
    assert "kpd run TASK" in said(kpd("review", "on"), 64)
    kpd("run", "scale", "--agent", "mailbox", "--iterations", "3")
    assert "wait for your review" in said(kpd("review", "on"))
    assert "r1 are built without waiting for you" in said(kpd("review", "off", "r1"))
    said(kpd("review", "on", "r1"))
    prompt = workspace.iteration_folder("scale", "r1", 1) / "prompt.md"
    daemon.until(prompt.exists, "the prompt")
    said(kpd("skip"))
    daemon.until_event("iteration_ended", iteration=1)
    assert "r1.1 has no candidate: skipped by" in said(kpd("retry", "r1.1"), 1)
    home = workspace.iteration_folder("scale", "r1", 2)
    daemon.until((home / "prompt.md").exists, "the prompt")
    text = kernel(workspace).read_text().replace("REPEAT 8", "REPEAT 2")
    (home / "reply.md").write_text(f"MEMO: six less\n\n```c kernel.c\n{text}```\n")
    daemon.until_event("review_asked", iteration=2)
    assert "r1.2 is declined" in said(kpd("decline", "--reason", "too timid"))
    assert daemon.until_event("iteration_ended", iteration=2)["body"]["reason"].endswith(": too timid")
    assert "reason      declined by ada" in kpd("show", "r1.2").stdout
    assert "r1.2 is measured against the incumbent once more, with as many" in said(kpd("remeasure", "r1.2"))
    said(kpd("skip"))  # of the third iteration, whose prompt nobody has answered
    assert daemon.until_event("iteration_started", agent="again")["body"]["again"] == 2
    daemon.until_event("iteration_ended", outcome="accepted")
    assert "again       what r1.2 proposed, with as many" in kpd("show", "4").stdout
    said(kpd("rollback", "r1.0"))
    assert "r1.4 is the incumbent again; kpd undo" in said(kpd("undo"))
    assert "REPEAT 2" in kernel(workspace).read_text()
    said(kpd("stop"))


def test_an_edit_of_the_incumbent(daemon: RealDaemon, workspace: Workspace, kpd: Kpd, tmp_path: Path) -> None:
    assert "no run yet; kpd run TASK queues one" in said(kpd("edit"), 64)
    daemon.start()
    kpd("run", "scale", "--agent", "operator")
    daemon.until_event("folder_known")
    assert "nothing changed" in said(kpd("edit", editor="true"))
    assert kept(tmp_path) == []
    assert "harness.c is not an editable file" in said(kpd("edit", "r1", "harness.c"), 64)
    assert "no run 'r7'" in said(kpd("edit", "r7"), 64)
    assert "is in the task folder: r1 measures it next" in said(
        kpd("edit", editor='sed -i.old "s/REPEAT 8/REPEAT 1/" "$1"')
    )
    daemon.until_event("iteration_ended", iteration=1, outcome="accepted")
    assert "REPEAT 1" in kernel(workspace).read_text()
    assert kept(tmp_path) == []
    assert "exited 3: nothing is sent" in said(kpd("edit", "kernel.c", editor='echo "/* mine */" >> "$1"; exit 3'), 1)
    assert [path.read_text().endswith("/* mine */\n") for path in kept(tmp_path)] == [True]


def test_files_are_added_and_removed_by_an_edit(
    daemon: RealDaemon, workspace: Workspace, kpd: Kpd, tmp_path: Path
) -> None:
    folder = workspace.tasks / "scale"
    toml = folder / "task.toml"
    toml.write_text(toml.read_text().replace('"kernel.c", "build', '"kernel.c", "src/", "build'))
    (folder / "src").mkdir()
    (folder / "src" / "old.h").write_text("#define OLD\n")
    (folder / "src" / "empty.h").touch()
    daemon.start()
    kpd("run", "scale", "--agent", "operator", "--iterations", "9", "--patience", "9")
    daemon.until_event("folder_known")
    assert "src/gone.h is no file of the candidate" in said(kpd("edit", "--remove", "src/gone.h"), 64)
    assert "at once" in said(kpd("edit", "src/old.h", "--remove", "src/old.h"), 64)
    assert "kernel.c cannot be removed from scale" in said(kpd("edit", "--remove", "kernel.c"), 1)
    assert "'src/k\\u0435rnel.h' is not an editable file; use letters" in said(kpd("edit", "src/k\u0435rnel.h"), 64)
    for odd in ("src/k\u202eh.c", "src/\x1b[2J.h", "src/a\0.h", "src/../harness.c", "src/a b.h", "src/k\u0435rnel.h"):
        with pytest.raises(DaemonError) as caught:
            daemon.command("edit", files={odd: "int odd;\n"})
        assert f"{odd!a} is not an editable file" in str(caught.value)
    told = said(kpd("edit", "src/new.h", "--remove", "src/old.h", editor='echo "#define NEW" >"$1"'))
    assert "src/new.h is in the task folder; removed from the task folder: src/old.h: r1 measures it next" in told
    daemon.until_event("iteration_ended", iteration=1)
    assert sorted(path.name for path in (folder / "src").iterdir()) == ["empty.h", "new.h"]
    candidate = workspace.iteration_folder("scale", "r1", 1) / "candidate"
    assert sorted(path.name for path in (candidate / "src").iterdir()) == ["empty.h", "new.h"]
    diff = kpd("diff", "r1.1").stdout
    assert "--- r1.0/src/old.h\n+++ /dev/null\n" in diff and "--- /dev/null\n+++ r1.1/src/new.h\n" in diff
    assert kept(tmp_path) == []
    told = said(kpd("edit", "r1.1", "--remove", "src/new.h", "--remove", "src/empty.h"))
    assert "removed from the task folder: src/new.h, src/empty.h: r1 measures it next" in told
    daemon.until_event("iteration_ended", iteration=2)
    assert not list((folder / "src").iterdir())


def test_what_is_refused_is_kept(daemon: RealDaemon, workspace: Workspace, kpd: Kpd, tmp_path: Path) -> None:
    daemon.start()
    kpd("run", "scale", "--agent", "operator")
    daemon.until_event("folder_known")
    daemon.command("pause")
    save(kernel(workspace), kernel(workspace).read_text() + "/* theirs */\n")
    told = said(kpd("edit", "r1.0", editor='echo "/* mine */" >> "$1"'), 1)
    assert "that edit is measured first" in told
    assert [path.read_text().endswith("/* mine */\n") for path in kept(tmp_path)] == [True]
    assert str(kept(tmp_path)[0]) in told
    assert kernel(workspace).read_text().endswith("/* theirs */\n")
    large = said(kpd("edit", editor='head -c 300000 /dev/zero | tr "\\0" x > "$1"'), 64)
    assert "a message may have 262144 bytes at most" in large
    assert "save it as" in large and str(kernel(workspace)) in large
    daemon.command("shutdown")
    daemon.wait()
    assert "no daemon runs" in said(kpd("edit", editor='echo "/* mine */" >> "$1"'), 3)
    assert len(kept(tmp_path)) == 3
