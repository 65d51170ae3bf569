"""The mailbox, with real files: it asks once, waits across restarts, takes each reply once, and says why it refuses."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kpd.agents.agent import BadReply, Context, Failure, Proposal
from kpd.agents.mailbox import Mailbox
from kpd.agents.prompting import proposal_of
from kpd.model.iteration import Iteration
from kpd.model.waits import ForReply
from kpd.text.waits import wait
from tests.support.agents.asked import Heard, asked, shipped
from tests.support.model.samples import done

TASK, INCUMBENT = shipped("transpose_cuda")
OLD = INCUMBENT["kernel.cu"].decode()
EVERY_S = 0.01


def reply(tile: int) -> str:
    kernel = OLD.replace("#define TILE 0 ", f"#define TILE {tile} ")
    return f"MEMO: [poor_coalescing] tiles of {tile}\nEXPECT: gbs up\n\n```cuda kernel.cu\n{kernel}```\n"


class Box:
    """An iteration's folder, and an agent that waits in it."""

    def __init__(self, root: Path, heard: Heard | None = None, failure: Failure | None = None) -> None:
        self.heard = heard or Heard()
        iterations = (Iteration(0, "baseline", 0, 0.0, status=done("baseline")), Iteration(1, "mailbox", 0, 0.0))
        self.context = asked(root, TASK, INCUMBENT, *iterations, heard=self.heard, failure=failure)
        self.home = self.context.home
        self.composed = 0

    def compose(self, context: Context) -> str:
        self.composed += 1
        return f"How to make {context.task.name} faster, asked {self.composed} times.\n"

    def propose(self) -> "asyncio.Task[Proposal]":
        return asyncio.create_task(Mailbox(self.compose, EVERY_S).propose(self.context))

    def put(self, text: str | bytes, name: str = "reply.md") -> None:
        """Written whole: under another name, then renamed."""
        (self.home / "reply.part").write_bytes(text.encode() if isinstance(text, str) else text)
        (self.home / "reply.part").rename(self.home / name)

    def rejected(self) -> str:
        path = self.home / "reply.rejected.md"
        return path.read_text() if path.exists() else ""


async def until(true: Callable[[], object]) -> None:
    for _ in range(int(30 / EVERY_S)):
        if true():
            return
        await asyncio.sleep(EVERY_S)
    raise AssertionError("it never came about")


async def ended(waiting: "asyncio.Task[Proposal]") -> None:
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_a_prompt_is_written_and_the_reply_proposed(tmp_path: Path) -> None:
    box = Box(tmp_path)
    waiting = box.propose()
    await until((box.home / "prompt.md").exists)
    lines = (box.home / "prompt.md").read_text().splitlines()
    assert lines[0] == "<!-- r1.1, question 1 -->"
    assert str(box.home / "reply.md") in lines[1]
    assert lines[3] == "How to make transpose_cuda faster, asked 1 times."
    await until(lambda: box.heard.waits)
    assert box.heard.waits[0] == ForReply(str(box.home / "reply.md"), "prompt.md")
    box.put(reply(32))
    proposal = await waiting
    assert proposal.memo == "tiles of 32"
    assert proposal.aims == ("poor_coalescing",)
    assert b"#define TILE 32 " in proposal.files["kernel.cu"]
    assert box.heard.waits[-1] is None


async def test_a_bad_reply_is_answered_with_the_reason_and_a_good_one_is_waited_for(tmp_path: Path) -> None:
    box = Box(tmp_path)
    waiting = box.propose()
    box.put("I would rather not.\n")
    await until(box.rejected)
    assert box.rejected().startswith("This reply cannot be used: no file is in the reply")
    assert box.rejected().endswith("I would rather not.\n")
    await until(lambda: "no file is in the reply" in wait(box.heard.waits[-1]))
    box.put(reply(32).replace("    if (i >= rows", "    // ... existing code ...\n    if (i >= rows"))
    await until(lambda: "leaves code out" in box.rejected())
    box.put(reply(16))
    assert (await waiting).memo == "tiles of 16"
    assert box.composed == 1


async def test_a_reply_that_is_still_being_written_is_looked_at_when_it_has_come_to_rest(tmp_path: Path) -> None:
    box = Box(tmp_path)
    waiting = box.propose()
    await until(lambda: box.heard.waits)
    with (box.home / "reply.md").open("w") as file:
        for line in reply(32).splitlines(keepends=True):
            file.write(line)
            file.flush()
            await asyncio.sleep(EVERY_S / 10)
    assert (await waiting).memo == "tiles of 32"


async def test_a_restart_goes_on_waiting_with_the_same_prompt(tmp_path: Path) -> None:
    first = Box(tmp_path)
    waiting = first.propose()
    await until((first.home / "prompt.md").exists)
    await until(lambda: first.heard.waits)
    await ended(waiting)
    assert first.heard.waits[-1] is None
    before = (first.home / "prompt.md").read_text()
    first.put(reply(32))  # while nobody waits
    second = Box(tmp_path)
    assert (await second.propose()).memo == "tiles of 32"
    assert second.composed == 0
    assert (second.home / "prompt.md").read_text() == before
    assert (await Box(tmp_path).propose()).memo == "tiles of 32", "it was taken, and not yet recorded"


async def test_after_a_failure_the_reply_that_failed_is_not_taken_again(tmp_path: Path) -> None:
    first = Box(tmp_path)
    waiting = first.propose()
    first.put(reply(32))
    failed = await waiting
    again = Box(tmp_path, failure=Failure("build", "does not build: x", "log", failed.files, 1))
    waiting = again.propose()
    await until((again.home / "reply_1.md").exists)
    await until(lambda: "question 2, after build" in (again.home / "prompt.md").read_text())
    assert not (again.home / "reply.md").exists()
    assert (again.home / "reply_1.md").read_text() == reply(32)
    again.put(reply(64))
    assert (await waiting).memo == "tiles of 64"
    third = Box(tmp_path, failure=Failure("check", "incorrect", "", {}, 2))
    waiting = third.propose()
    third_reply = third.home / "reply_2.md"
    await until(third_reply.exists)
    assert third_reply.read_text() == reply(64)
    await ended(waiting)


async def test_what_is_no_plain_file_is_refused_and_not_read(tmp_path: Path) -> None:
    box = Box(tmp_path)
    path = box.home / "reply.md"
    (tmp_path / "secret").write_text("a secret")
    waiting = box.propose()
    os.mkfifo(path)
    await until(lambda: "not a regular file" in box.rejected())
    path.unlink()
    path.symlink_to(tmp_path / "secret")
    await until(lambda: "symbolic link" in box.rejected() or "leads out" in box.rejected())
    assert "a secret" not in box.rejected()
    path.unlink()
    path.mkdir()
    await until(lambda: "not a regular file" in box.rejected() or "directory" in box.rejected())
    path.rmdir()
    box.put(b"x" * (17 << 20))
    await until(lambda: "larger than 16 MiB" in box.rejected())
    box.put(b"\xff\x00```" * 1_000_000)
    await until(lambda: "characters; 4194304 are the most" in box.rejected())
    box.put(reply(32))
    assert (await waiting).memo == "tiles of 32"


async def test_a_reply_gets_out_of_the_folder_by_no_path(tmp_path: Path) -> None:
    box = Box(tmp_path)
    waiting = box.propose()
    box.put("MEMO: x\n```sh ../../../.bashrc\nrm -rf ~\n```\n")
    await until(lambda: "is not an editable file" in box.rejected())
    assert sorted(path.name for path in box.home.iterdir()) == ["prompt.md", "reply.md", "reply.rejected.md"]
    await ended(waiting)


def test_a_repair_may_leave_out_what_it_does_not_change(tmp_path: Path) -> None:
    task, incumbent = shipped("transpose_cpu")
    kernel = incumbent["kernel.c"].decode()
    failed = {"kernel.c": kernel.replace("VEC 1 ", "VEC 3 ").encode(), "build.json": b'{"flags": "-O3 -march=native"}'}
    context = asked(tmp_path, task, incumbent, failure=Failure("build", "does not build", "", failed, 1))
    mended = kernel.replace("VEC 1 ", "VEC 4 ")
    found = proposal_of(f"MEMO: x\n```c kernel.c\n{mended}```\n", context)
    assert found.files == {"kernel.c": mended.encode(), "build.json": failed["build.json"]}
    assert found.point["VEC"] == "4"
    with pytest.raises(BadReply, match="nothing is changed"):
        proposal_of(f"```c kernel.c\n{failed['kernel.c'].decode()}```\n", context)


def test_json_without_end_is_a_candidate_like_any_other(tmp_path: Path) -> None:
    task, incumbent = shipped("transpose_cpu")
    deep = "[" * 200_000 + "\n"
    found = proposal_of(f"```json build.json\n{deep}```\n", asked(tmp_path, task, incumbent))
    assert found.files["build.json"] == deep.encode()
    assert found.point == {}
