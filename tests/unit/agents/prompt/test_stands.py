"""Rules that an operator has pinned or banned, in what a model is told."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kpd.agents.agent import Context
from kpd.agents.prompt.background import is_shown, pinned
from kpd.agents.prompt.blocks import Prompt, shorter
from kpd.agents.prompt.compose import compose
from kpd.agents.prompt.skill_choice import MOST, ROOM, shown_skills
from kpd.agents.prompting import gather_background, whole_prompt
from kpd.model.run import RuleSetting
from tests.support.agents.prompted import attempt, context, rules
from tests.support.model.samples import run_of

UNFIRED = "tail_effect"


def standing(root: Path, **stands: RuleSetting) -> Context:
    """A context of a run with these stands, its findings as the engine would give them."""
    of = context(root, attempt(1))
    run = replace(of.run, stands=stands)
    return replace(of, run=run, findings=tuple(found for found in of.findings if is_shown(run, found.rule)))


def prompt(of: Context) -> Prompt:
    return compose(of, gather_background(of, ""))


def bodies(of: Prompt) -> list[str]:
    return [block.name.removeprefix("skill:") for block in of.system if block.name.startswith("skill:")]


def findings(of: Prompt) -> list[str]:
    block = next(block for block in of.user if block.name == "findings")
    return [line.split("[")[1].split("]")[0] for line in block.text.splitlines() if line[:1].isdigit()]


def test_a_banned_rule_is_nowhere(tmp_path: Path) -> None:
    plain = whole_prompt(standing(tmp_path))
    (severest, *_) = findings(prompt(standing(tmp_path)))
    assert f"## [{severest}]" in plain and f"\n{severest}: " in plain
    of = standing(tmp_path, **{severest: "banned"})
    told = prompt(of)
    assert severest not in bodies(told) and severest not in findings(told)
    assert f"[{severest}]" not in whole_prompt(of) and f"\n{severest}: " not in whole_prompt(of)
    assert "banned" not in whole_prompt(of)


def test_a_pinned_rule_that_fired_comes_first(tmp_path: Path) -> None:
    before = findings(prompt(standing(tmp_path)))
    last = before[-1]
    told = prompt(standing(tmp_path, **{last: "pinned"}))
    assert findings(told)[0] == bodies(told)[0] == last
    assert findings(told)[1:] == [rule for rule in before if rule != last]
    assert "→" in next(block.text for block in told.user if block.name == "findings").splitlines()[1], "and what to do"


def test_a_pinned_rule_has_its_body_although_it_did_not_fire(tmp_path: Path) -> None:
    assert UNFIRED not in rules("naive") and UNFIRED not in bodies(prompt(standing(tmp_path)))
    told = prompt(standing(tmp_path, **{UNFIRED: "pinned"}))
    assert bodies(told)[0] == UNFIRED
    assert UNFIRED not in findings(told)
    short: Prompt | None = told
    while short is not None:
        told, short = short, shorter(short)
    assert bodies(told) == [UNFIRED], "it is the one that stays when the prompt has to be shorter"


STANDS = st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from(["pinned", "banned"]), max_size=8)
SIZES = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, ROOM), min_size=1)


@given(STANDS, SIZES, st.lists(st.sampled_from("abcdefgh"), unique=True))
def test_the_pinned_are_shown_and_the_others_fit_into_what_they_leave(
    stands: dict[str, RuleSetting], sizes: dict[str, int], fired: list[str]
) -> None:
    run = replace(run_of(attempt(1)), stands=stands)
    there = {skill: size for skill, size in sizes.items() if is_shown(run, skill)}
    fired = [rule for rule in fired if is_shown(run, rule)]
    found = shown_skills(run, 1, fired, there, anew=1)
    all_of_them = (*found.early, *found.late)
    first = [rule for rule in pinned(run) if rule in there]
    assert list(all_of_them[: len(first)]) == first
    assert len(set(all_of_them)) == len(all_of_them)
    assert not [skill for skill in all_of_them if stands.get(skill) == "banned"]
    others = all_of_them[len(first) :]
    assert len(others) <= max(MOST - len(first), 1)
    if len(others) > 1:
        assert sum(there[skill] for skill in all_of_them) <= ROOM
    if wanted := [rule for rule in fired if rule in there and rule not in first]:
        assert others and others[0] == wanted[0], "the severest is shown, whatever the pinned ones take"


@pytest.mark.parametrize("stand", ["pinned", "banned"])
def test_a_rule_without_a_skill_leaves_the_bodies_as_they_are(tmp_path: Path, stand: RuleSetting) -> None:
    assert bodies(prompt(standing(tmp_path, no_such_skill=stand))) == bodies(prompt(standing(tmp_path)))
