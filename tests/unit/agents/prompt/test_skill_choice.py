"""Which skills are shown in full: the severest always, and as much as can be in the order of before."""

import pytest
from hypothesis import given, strategies as st

from kpd.agents.prompt.skill_choice import MOST, ROOM, ShownSkills, following, shown_skills, wanted
from kpd.model.iteration import Iteration
from tests.support.agents.prompted import BASELINE, attempt, rules
from tests.support.model.samples import done, run_of

SIZES = dict.fromkeys("abcdefgh", 100)
names = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)


@given(names, names, st.integers(0, 900))
def test_a_selection_fits_and_has_the_severest(before: list[str], want: list[str], room: int) -> None:
    before = before[: min(MOST, room // 100)]  # what a question before has shown had room
    now = following(before, want, SIZES, room)
    assert len(set(now)) == len(now) <= MOST
    assert not want or want[0] in now
    assert sum(map(SIZES.__getitem__, now)) <= max(room, 100)
    assert set(now) <= {*before, *want}
    kept = [name for name in now if name in before]
    assert kept == [name for name in before if name in now], "what stays keeps its order"
    assert list(now[: len(kept)]) == kept, "what is new comes after it"
    assert following(now, want, SIZES, room) == now, "the same findings ask for the same"


@given(names, names)
def test_nothing_goes_while_there_is_room(before: list[str], want: list[str]) -> None:
    before = before[: MOST - 1]
    now = following(before, want[:1], SIZES, 100 * MOST)
    assert list(now[: len(before)]) == before


def test_what_no_longer_fires_goes_at_once_when_the_severest_has_no_room() -> None:
    assert following(("a", "b", "c"), ("d", "c"), SIZES, 300) == ("c", "d")
    assert following(("a", "b", "c"), ("c", "d"), SIZES, 300) == ("a", "b", "c")
    assert following(("a",), ("b",), {"a": 100, "b": 900}, 300) == ("b",), "one that is too long stands alone"
    assert following(("a", "gone"), ("b",), SIZES, 300) == ("a", "b"), "a skill that was deleted is not shown"


def test_a_symptom_has_a_body_where_nothing_worse_fired() -> None:
    have = {"low_ipc", "stall_wait", "uncoalesced_store", "own_rule"}
    assert wanted(("uncoalesced_store", "low_ipc", "stall_wait"), have) == ("uncoalesced_store",)
    assert wanted(("low_ipc", "stall_wait"), have) == ("low_ipc", "stall_wait")
    assert wanted(("own_rule", "nobody_knows"), have) == ("own_rule",)


NAIVE, TILED = rules("naive"), rules("tiled")
WON = attempt(1, outcome="accepted", rules=TILED)
SKILLS = dict.fromkeys((*NAIVE, *TILED), 300)


@pytest.mark.parametrize(
    ("iterations", "fired", "anew", "early", "late"),
    [
        ((attempt(1),), NAIVE, 1, ("uncoalesced_store", "stall_long_scoreboard"), ()),
        (
            (attempt(1, outcome="failed"), attempt(2)), NAIVE, 1, ("uncoalesced_store", "stall_long_scoreboard"), (),
        ),
        (
            (WON, attempt(2, 1)), TILED, 1, ("uncoalesced_store", "stall_long_scoreboard"),
            ("smem_bank_conflicts", "low_waves_per_sm", "low_occupancy"),
        ),
        (
            (WON, attempt(2, 1)), TILED, 2,
            ("uncoalesced_store", "stall_long_scoreboard", "smem_bank_conflicts", "low_waves_per_sm", "low_occupancy"),
            (),
        ),
    ],
)  # fmt: skip
def test_the_run_says_what_was_shown(
    iterations: tuple[Iteration, ...], fired: tuple[str, ...], anew: int, early: tuple[str, ...], late: tuple[str, ...]
) -> None:
    found = shown_skills(run_of(BASELINE, *iterations), iterations[-1].number, fired, SKILLS, anew)
    assert found == ShownSkills(early, late)


def test_bodies_have_room_for_so_much_and_no_more() -> None:
    tight = dict.fromkeys(SKILLS, ROOM // 2)
    assert len(shown_skills(run_of(BASELINE, attempt(1)), 1, TILED, tight, 1).early) == 2


def test_another_agents_iterations_were_shown_nothing() -> None:
    swept = Iteration(1, "sweep", 0, 0.0, status=done("accepted"), rules=TILED)
    found = shown_skills(run_of(BASELINE, swept, attempt(2, 1)), 2, TILED, SKILLS, 2)
    assert found == ShownSkills(("smem_bank_conflicts", "low_waves_per_sm", "stall_long_scoreboard", "low_occupancy",
                           "register_limited"), ())  # fmt: skip
