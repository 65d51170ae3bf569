"""Whoever answers in a folder writes a harness, and an answer to an earlier question is put aside."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from kpd.agents import answers
from kpd.agents.answers import MailboxAnswers
from tests.support.hosts.local import until
from tests.support.onboarding.generate import workshop
from tests.support.onboarding.kernels import FLAT, GOOD, fenced


async def test_a_harness_comes_from_a_mailbox(tmp_path: Path) -> None:
    folder = tmp_path / "box"
    folder.mkdir()
    (folder / "reply.md").write_text(fenced(GOOD))  # to another question
    prompt, asked = folder / "prompt.md", set[str]()

    async def answered(text: str) -> None:
        await until(lambda: prompt.exists() and prompt.read_text() not in asked)
        asked.add(prompt.read_text())
        (folder / "reply.md").write_text(text)

    async with workshop(tmp_path, []) as shop:
        shop.maker = replace(shop.maker, answers=MailboxAnswers(folder))
        making = asyncio.create_task(shop.make())
        await answered(fenced(FLAT))
        await answered(fenced(GOOD))
        made = await making
    assert (made / "row_scale.cu").read_text().count("kpd_dim3(c->block)") == 1
    assert "expected dim3(32, 8, 1)" in prompt.read_text() and "kpd_task.h" in prompt.read_text()
    assert sorted(path.name for path in folder.iterdir()) == ["prompt.md", "reply.md", "reply_1.md", "reply_2.md"]


async def test_what_was_answered_while_nobody_asked_counts_for_the_same_question_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "EVERY_S", 0.01)
    killed = asyncio.create_task(MailboxAnswers(tmp_path).ask((), "how?"))
    await until((tmp_path / "prompt.md").exists)
    killed.cancel()
    (tmp_path / "reply.md").write_text("so")
    again = MailboxAnswers(tmp_path)
    assert (await again.ask((), "how?")).text == "so"
    for asks in (again, MailboxAnswers(tmp_path)):
        other = asyncio.create_task(asks.ask((), "how?" if asks is again else "why?"))
        await asyncio.sleep(0.1)
        assert not other.done() and not (tmp_path / "reply.md").exists(), "the reply was to an earlier question"
        other.cancel()
