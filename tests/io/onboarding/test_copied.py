"""A task whose folder has another kernel by now serves production's kernel again, with the harness that was made."""

import shutil
from dataclasses import replace
from pathlib import Path

from kpd.onboarding import prompt
from kpd.onboarding.folder import copied, has_harness, has_kernel, made_of
from kpd.workspace.sections import split
from kpd.workspace.task import load_task
from tests.support.claude.anthropic_server import Reply
from tests.support.onboarding.generate import workshop
from tests.support.onboarding.kernels import GOOD, fenced


async def test_the_harness_is_kept_and_the_kernel_is_productions(tmp_path: Path) -> None:
    async with workshop(tmp_path, [Reply(fenced(GOOD))]) as shop:
        made = await shop.make()
    facts, file = shop.facts, made / "row_scale.cu"
    assert has_kernel(made, facts)
    before = split(file.read_bytes())
    file.write_bytes(before.with_kernel(b"// the winner\n").whole)
    assert has_harness(made, facts) and not has_kernel(made, facts)
    again = copied(made, shop.tasks, "rows-2", facts)
    assert (again.name, load_task(again).name) == ("rows-2", "rows-2")
    assert split((again / "row_scale.cu").read_bytes()) == before
    assert (again / "task.md").read_bytes() == (made / "task.md").read_bytes()
    assert split(file.read_bytes()).kernel == b"// the winner\n"
    for spoil in (lambda: file.write_text("no sections"), file.unlink, lambda: shutil.rmtree(made), made.touch):
        spoil()
        assert not has_harness(made, facts)


async def test_a_task_is_made_of_its_question_its_flags_and_its_weights(tmp_path: Path) -> None:
    async with workshop(tmp_path, []) as shop:
        facts = shop.facts
    question = prompt.user(facts)
    other = replace(facts.configs[0], share=facts.configs[0].share / 2)
    keys = {
        made_of(facts, question), made_of(facts, question), made_of(facts, prompt.user(facts, "baseline")),
        made_of(replace(facts, flags=("-O3",)), question),
        made_of(replace(facts, configs=(other, *facts.configs[1:])), question),
    }  # fmt: skip
    assert len(keys) == 4
