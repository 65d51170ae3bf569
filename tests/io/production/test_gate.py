"""A change that waits for a person elsewhere: an answer counts only for the diff that it names."""

import asyncio
import contextlib
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kpd.cli.main import main
from kpd.client import operator
from kpd.model import codec
from kpd.production.deploy import gate
from kpd.production.deploy.gate import approved_elsewhere
from kpd.workspace.deployments import DeploymentJournal, DeploymentRunning, GateAnswer
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import digest
from tests.support.cli.places import ws
from tests.support.patience import PATIENCE_S

__all__ = ["ws"]


OLDER = codec.encode(GateAnswer(digest(b"an older diff"), True, "bob"))


@pytest.mark.parametrize("before", [OLDER, b"{", b'{"diff": "\xff"}', b'{"x": ' + b"[" * 100_000])
@pytest.mark.parametrize("yes", [True, False])
async def test_an_answer_to_another_change_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bytes, yes: bool
) -> None:
    monkeypatch.setattr(gate, "LOOK_S", 0.01)
    opened = DeploymentJournal(tmp_path).begin("r1", 3, "ada", "abcd")
    opened.keep("answer", before)
    asked = asyncio.create_task(approved_elsewhere(opened, "the diff"))
    await asyncio.sleep(0)
    assert (opened.now.asks, asked.done()) == (digest(b"the diff"), False)
    opened.answer(GateAnswer(digest(b"the diff"), yes, "ada"))
    assert await asked is yes
    assert (opened.now.asks, opened.now.answered_by) == ("", "ada")


def test_what_waits_can_be_declined_without_its_diff_and_whoever_is_in_its_way_is_told_how(
    ws: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    ws.config.write_text(
        '[hosts.local]\n[project.p]\nhost = "local"\nroot = "/x"\nfiles = ["k.c"]\nbinary = ["k"]\nbuild_dir = "b"\n'
        'build = "make"\nrun = "./k"\nkernel = "k"\n'
    )

    def kpd(*args: str) -> str:
        done = main(["-w", str(ws.root), "project", *args[:1], "p", *args[1:]]) == 0
        assert done == (args in (("decline",), ("approve", "--diff", digest(b"the diff")[:12]), ("approve", "--yes")))
        return "".join(capsys.readouterr())

    journal = DeploymentJournal(ws.deployments / "p")
    with journal.locked():
        opened = journal.begin("r1", 3, "ada", "abcd")
        opened.note(asks="a-hash")
        assert "the diff of deployment 1 is not the one that waits; " in kpd("approve")
        assert "p is being deployed; it waits for a person: kpd project decline p ends it" in kpd("rollback")
        opened.keep("diff", "another one")
        assert "kpd project decline p\n" in kpd("approve")
        opened.keep("diff", "the diff")
        opened.note(asks=digest(b"the diff"))
        short, hash = digest(b"the diff")[:11], digest(b"the diff")[:12]
        assert f"--diff names another change than the one that waits, {hash}; look at the" in kpd(
            "approve", "--diff", short
        )
        assert f"nobody here can say yes; call it on a terminal, or with --diff {hash}" in kpd("approve")
        assert kpd("approve", "--diff", hash).startswith(f"deployment 1 of p is approved: the change {hash}\nthe diff")
        assert json.loads(opened.kept("answer")) == {"diff": digest(b"the diff"), "yes": True, "by": operator()}
        assert kpd("approve", "--yes").startswith(f"deployment 1 of p is approved: the change {hash}\n")
        said = typed(ws, "y\n", lambda: (opened.keep("diff", "later"), opened.note(asks=digest(b"later"))))
        assert f"the change that you were shown, {hash}, waits no more: nothing is approved" in said
        assert json.loads(opened.kept("answer"))["diff"] == digest(b"the diff"), "of before"
        assert f"deployment 1 of p is approved: the change {digest(b'later')[:12]}" in typed(ws, "y\n")
        opened.note(asks="a-hash")
        assert kpd("decline") == "deployment 1 of p is declined\n"
        assert json.loads(opened.kept("answer")) == {"diff": "a-hash", "yes": False, "by": operator()}


def typed(ws: Workspace, answer: str, first: Callable[[], object] = lambda: None) -> str:
    """Answer `kpd project approve p` on a terminal once it asks, after `first`; return all that it printed."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "kpd.cli.main", "-w", str(ws.root), "project", "approve", "p"]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    said = ""
    while "deploy this change? [y/N]" not in said:
        said += os.read(ours, 4096).decode()
    first()
    os.write(ours, answer.encode())
    with contextlib.suppress(OSError):  # the terminal ends with its last process
        while more := os.read(ours, 4096):
            said += more.decode()
    process.wait(PATIENCE_S)
    os.close(ours)
    return " ".join(said.split())


def test_who_may_wait_gets_the_journal_when_it_is_free(tmp_path: Path) -> None:
    journal = DeploymentJournal(tmp_path)

    def taken() -> bool:
        with journal.locked(wait=True):
            return journal.busy

    with ThreadPoolExecutor() as pool:
        with journal.locked():
            waiting = pool.submit(taken)
            with pytest.raises(DeploymentRunning), journal.locked():
                pass
            assert not waiting.done()
        assert waiting.result(PATIENCE_S)
