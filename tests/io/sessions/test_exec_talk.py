"""Talks with plain programs: a prompt in, and files out."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from kpd.hosts import kept
from kpd.hosts.keeper import Order
from kpd.hosts.kept import KeptProcess
from kpd.hosts.processes import exists
from kpd.sessions import exec_talk
from kpd.sessions.conversation import Conversation
from kpd.sessions.exec_talk import ExecTalk
from tests.places import READS

Make = Callable[..., ExecTalk]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def made(*argv: str) -> ExecTalk:
        tree = tmp_path / "session" / "tree"
        tree.mkdir(parents=True)
        order = Order(argv, str(tree), {"PATH": "/usr/bin:/bin"}, READS, (str(tree),), grace_s=0.5)
        folder = tree.parent
        said = Conversation(lambda channel, text: None, folder / "log.jsonl")
        return ExecTalk(order, folder, folder / "prompt.md", said)

    return made


async def test_what_outlives_a_killed_keeper_keeps_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one has the mark of the session, and is ended; the other cannot be found, and holds the pipes."""
    monkeypatch.setattr(kept, "PIPES_S", 0.2)
    script = "setsid env -i sleep 5 & sleep 60 & echo $PPID $!; wait"
    process = await KeptProcess.start(
        Order(("sh", "-c", script), "/", {"PATH": "/usr/bin:/bin"}, confined=False), tmp_path
    )
    keeper, marked = map(int, (await process.stdout.readline()).split())
    os.kill(keeper, signal.SIGKILL)
    async with asyncio.timeout(4.0):
        ending = await process.end()
    assert (ending.rc, ending.why) == (-signal.SIGKILL, "keeper")
    assert not exists(marked)


@pytest.mark.parametrize(
    "argv", [("sh", "-c", "cat > k.c; echo MEMO: x"), ("sh", "-c", "cat {prompt_file} > k.c; echo MEMO: x")]
)
async def test_the_prompt_comes_on_stdin_or_in_a_file(make: Make, tmp_path: Path, argv: tuple[str, ...]) -> None:
    found = await make(*argv).ask("the task", 20.0, 1.0)
    assert (found.end, found.said) == ("done", "MEMO: x\n")
    assert (tmp_path / "session" / "tree" / "k.c").read_text() == "the task"


@pytest.mark.parametrize(
    ("script", "end", "said"),
    [("echo why >&2; exit 3", "crash", "exit status 3): why"), ("sleep 60", "time", ""), ("yes", "flood", "more than")],
)
async def test_bad_programs_have_an_end_each(
    make: Make, monkeypatch: pytest.MonkeyPatch, script: str, end: str, said: str
) -> None:
    monkeypatch.setattr(exec_talk, "MOST_OUTPUT", 1 << 20)
    found = await make("sh", "-c", script).ask("the task", 1.0 if end == "time" else 20.0, 1.0)
    assert found.end == end
    assert said in found.said
