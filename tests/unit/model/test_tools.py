"""What the log says of built tools decides alone which of them a session gets."""

from typing import Any

import pytest

from kpd.model import events as e
from kpd.model.fold import fold_all
from kpd.model.state import State
from kpd.model.toolbox import OF_EVERY, OF_SERVERS, ToolCheck
from kpd.model.tools import active, lost, still_active

SERVER = tuple(ToolCheck(name, True) for name in sorted(OF_EVERY | OF_SERVERS))
AT = ("lint", "aa")


def built(version: str = "aa", **parts: Any) -> e.ToolBuilt:
    return e.ToolBuilt("lint", version, "scale", {"server.py": "00"}, **{"server": True, **parts})


def passed(version: str = "aa") -> e.ToolChecked:
    return e.ToolChecked("lint", version, SERVER, ("count",))


def state_of(*facts: e.Fact) -> State:
    return fold_all(e.Event(number, float(number), fact) for number, fact in enumerate(facts, 1))


def refs(state: State, task: str = "scale") -> list[str]:
    return [one.ref for one in active(state.tools, task)]


def test_only_a_version_whose_checks_all_passed_is_given_and_only_to_its_task() -> None:
    state = state_of(built(), passed())
    assert (refs(state), refs(state, "other")) == (["lint@aa"], [])
    assert refs(state_of(built())) == []
    assert refs(state_of(passed())) == [], "nobody has built it"


@pytest.mark.parametrize("left_out", [one.name for one in SERVER])
def test_a_check_that_was_not_made_or_has_failed_is_no_pass(left_out: str) -> None:
    rest = tuple(one for one in SERVER if one.name != left_out)
    assert refs(state_of(built(), e.ToolChecked(*AT, rest, ("count",)))) == []
    bad = (*rest, ToolCheck(next(one.name for one in SERVER if one.name == left_out), False))
    assert state_of(built(), e.ToolChecked(*AT, bad, ("count",))).tools["lint@aa"].state == "quarantined"


def test_an_empty_gate_and_an_empty_inventory_are_no_pass() -> None:
    assert refs(state_of(built(), e.ToolChecked(*AT, ()))) == []
    assert refs(state_of(built(), e.ToolChecked(*AT, SERVER))) == []
    neither = built(server=False, skill=False)
    assert refs(state_of(neither, e.ToolChecked(*AT, SERVER, ("count",)))) == []


def test_a_quarantine_holds_whatever_checks_say_until_it_is_ended() -> None:
    given = ("lint@aa",)
    state = state_of(built(), passed(), e.ToolQuarantined(*AT, "it lies", "ada"), passed())
    assert state.tools["lint@aa"].state == "quarantined", "whatever checks say, until a person restores it"
    assert refs(state) == [] and still_active(given, state.tools) == ()
    back = state_of(built(), passed(), e.ToolQuarantined(*AT), e.ToolRestored(*AT))
    assert refs(back) == ["lint@aa"] == [one.ref for one in still_active(given, back.tools)]


def test_of_a_tool_the_version_checked_last_is_given_and_a_bad_newer_one_changes_nothing() -> None:
    first = (built(), passed())
    second = (built("bb"), passed("bb"))
    assert refs(state_of(*first, *second)) == ["lint@bb"]
    assert refs(state_of(*first, built("bb"), e.ToolChecked("lint", "bb", SERVER[1:], ("count",)))) == ["lint@aa"]
    assert refs(state_of(*first, *second, e.ToolRetired("lint", "bb"))) == ["lint@aa"]


def test_what_never_passed_is_restored_to_what_it_was() -> None:
    state = state_of(built(), e.ToolRetired(*AT), e.ToolRestored(*AT))
    assert (state.tools["lint@aa"].state, refs(state)) == ("built", [])


def test_the_same_content_again_is_the_same_version() -> None:
    assert state_of(built(), passed(), built()).tools["lint@aa"].state == "qualified"


NOTES = e.ToolBuilt("notes", "cc", "scale", {"SKILL.md": "00"}, skill=True, points=("lint", "loop", "notes"))
NOTES_PASSED = e.ToolChecked("notes", "cc", tuple(ToolCheck(name, True) for name in (*sorted(OF_EVERY), "skill")))
STOPPED, RETIRED = e.ToolQuarantined(*AT, "it hangs"), e.ToolRetired(*AT)


@pytest.mark.parametrize("stop", [STOPPED, RETIRED])
def test_what_points_at_a_tool_that_is_stopped_goes_with_it_and_comes_back_with_it(stop: e.Fact) -> None:
    both = (built(), passed(), NOTES, NOTES_PASSED)
    given = ["lint@aa", "notes@cc"]
    assert refs(state_of(*both)) == given
    stopped = state_of(*both, stop)
    assert refs(stopped) == [] and stopped.tools["notes@cc"].state == "qualified"
    assert lost(stopped.tools["notes@cc"], (), stopped.tools) == ("lint",), "nobody has built a tool `loop`"
    assert still_active(given, stopped.tools) == (), "a session that has both loses both"
    assert refs(state_of(*both, stop, e.ToolRestored(*AT))) == given
    assert refs(state_of(NOTES, NOTES_PASSED)) == ["notes@cc"], "before there was a tool of that name"


def test_a_chain_of_pointers_falls_whole_and_an_older_version_that_points_at_nothing_stays() -> None:
    chain = e.ToolBuilt("guide", "dd", "scale", {}, skill=True, points=("notes",))
    older = e.ToolBuilt("guide", "ee", "scale", {}, skill=True)
    facts = (built(), passed(), NOTES, NOTES_PASSED, chain, e.ToolChecked("guide", "dd", NOTES_PASSED.checks))
    assert refs(state_of(*facts, STOPPED)) == []
    first = (older, e.ToolChecked("guide", "ee", NOTES_PASSED.checks))
    assert refs(state_of(*first, *facts)) == ["guide@dd", "lint@aa", "notes@cc"]
    assert refs(state_of(*first, *facts, STOPPED)) == ["guide@ee"]
