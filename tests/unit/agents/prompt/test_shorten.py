"""A prompt that does not fit loses what can best be missed, step by step, and never what it is about."""

from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import given, strategies as st

from kpd.agents.agent import Failure
from kpd.agents.prompt.blocks import ORDER, Prompt, PromptBlock, shorter
from kpd.agents.prompt.compose import compose
from kpd.model.kinds import Told
from kpd.model.run import Steering
from tests.support.agents.prompted import attempt, context, known, rules

STAYS = {
    "role", "work", "limits", "format", "machine", "task", "notes", "source", "bottleneck", "patch", "findings",
    "standing", "failure", "candidate", "steering", "request",
}  # fmt: skip


def steps(prompt: Prompt) -> list[Prompt]:
    """The prompt, and what it becomes, to the end."""
    found = [prompt]
    while (less := shorter(found[-1])) is not None:
        assert len(less.markdown()) < len(found[-1].markdown())
        assert all(less.stretches)
        found.append(less)
    return found


def full(root: Path, **given: Any) -> Prompt:
    tried = [attempt(number, outcome="rejected", memo=f"idea {number}", rules=rules("naive")) for number in range(1, 6)]
    of = context(
        root, *tried, attempt(6), last=tried[-1], changes=(Told("DRAM: up"),),
        steering=(Steering(1, "keep it simple", "ann", 0.0),), **given,
    )  # fmt: skip
    return compose(of, known(past="- memo: x", patterns="- y", avoid="- z", hints=("it has a namespace",)))


def test_what_can_best_be_missed_goes_first(tmp_path: Path) -> None:
    made = steps(full(tmp_path))
    assert "NVIDIA" not in made[1].markdown().replace("✓ NVIDIA", "").replace("NVIDIA H100", "")
    assert "idea 1" not in made[2].markdown()
    assert "idea 2" in made[2].markdown()
    assert "idea 2" not in made[3].markdown()
    assert all(f"idea {number}" in made[-1].markdown() for number in (3, 4, 5)), "the last three stay"
    gone = [{b.name for b in before.blocks} - {b.name for b in after.blocks} for before, after in pairwise(made)]
    assert gone == [
        {"advice"}, {"run:1"}, {"run:2"}, {"memory"}, {"patterns"}, {"hints"}, {"changes"},
        {"skill:stall_long_scoreboard"}, {"skill:uncoalesced_store"}, {"catalogue"}, {"counters"},
    ]  # fmt: skip
    assert {block.name for block in made[-1].blocks} <= STAYS | {"run", "run:3", "run:4", "run:5"}
    assert "#define TILE 0" in made[-1].markdown()
    assert "> keep it simple" in made[-1].markdown()


def test_of_a_repair_the_log_is_cut_last(tmp_path: Path) -> None:
    log = "\n".join(f"kernel.cu({number}): error: expected an expression" for number in range(200))
    made = steps(
        full(tmp_path, failure=Failure("build", "does not build", log, {"kernel.cu": b"// half of it\n" * 60}))
    )
    assert "kernel.cu(0): error" in made[-1].said()
    assert len(made[-2].said()) - len(made[-1].said()) > 1000
    assert "// half of it" in made[-1].said()


def test_a_short_prompt_cannot_be_shortened() -> None:
    assert shorter(Prompt(((PromptBlock("role", "x"),),), (PromptBlock("request", "y"),))) is None


names = st.one_of(st.sampled_from([*ORDER, "skill:a", "skill:b"]), st.sampled_from(sorted(STAYS)))
texts = st.text(alphabet="ab", max_size=6)
blocks = st.lists(st.builds(PromptBlock, names, texts, st.one_of(st.none(), texts)), min_size=1, max_size=6).map(tuple)


@given(st.lists(blocks, max_size=4).map(tuple), blocks)
def test_it_ends_and_spares_what_stays(
    stretches: tuple[tuple[PromptBlock, ...], ...], user: tuple[PromptBlock, ...]
) -> None:
    prompt, steps = Prompt(stretches, user), 0
    while (less := shorter(prompt)) is not None:
        assert sum(len(block.text) for block in less.blocks) < sum(len(block.text) for block in prompt.blocks)
        kept = [block for block in prompt.blocks if block.name in STAYS]
        assert [block for block in less.blocks if block.name in STAYS] == kept
        prompt, steps = less, steps + 1
    assert steps <= sum(len(stretch) for stretch in stretches) + len(user)
