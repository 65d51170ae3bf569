"""A change that waits for a person elsewhere: an answer counts only for the diff that it names."""

import asyncio
from pathlib import Path

import pytest

from kpd.production.deploy.gate import GateAnswer, answer, approved_elsewhere
from kpd.workspace.deployments import DeploymentJournal
from kpd.workspace.run_files import digest


@pytest.mark.parametrize("yes", [True, False])
async def test_an_answer_to_another_change_is_none(tmp_path: Path, yes: bool) -> None:
    opened = DeploymentJournal(tmp_path).begin("r1", 3, "ada", "abcd")
    answer(opened, GateAnswer(digest(b"an older diff"), True, "bob"))
    asked = asyncio.create_task(approved_elsewhere(opened, "the diff"))
    await asyncio.sleep(0)
    assert (opened.now.asks, asked.done()) == (digest(b"the diff"), False)
    opened.keep("answer", b"{")
    answer(opened, GateAnswer(digest(b"the diff"), yes, "ada"))
    assert await asked is yes
    assert (opened.now.asks, opened.now.answered_by) == ("", "ada")
