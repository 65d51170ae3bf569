"""What a daemon that starts again knows of a session."""

from dataclasses import replace

from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.fold import fold_all
from kpd.model.spending import Usage
from kpd.sessions.past import Past, past, smith_turns

AT = ("r1", 1)
OPENED = e.SessionOpened(*AT, "r1.1", ("agent",), 60.0)
KNOWN = e.SessionKnown(*AT, "r1.1", "own", "agent 1", True)
PROMPTED = e.SessionPrompted(*AT, "r1.1", 1, 0)
TURNED = e.SessionTurned(*AT, "r1.1", 1, "done", 12.0, "MEMO: x", 3.5, ("harness.c",))


def log(*facts: e.Fact) -> list[e.Event]:
    return [e.Event(seq, 100.0 + seq, fact) for seq, fact in enumerate(facts, 1)]


def test_each_step_of_a_session_is_known() -> None:
    assert past(log()) is None
    opened = past(log(OPENED))
    assert opened is not None
    assert (opened.own, opened.turns, opened.prompted) == ("", 0, None)
    asked = past(log(OPENED, KNOWN, PROMPTED))
    assert asked is not None
    assert (asked.own, asked.loads, asked.turns, asked.ended, asked.begun) == ("own", True, 1, None, 103.0)
    bill = e.Billed(*AT, "propose", "mine", Usage(), 0.5)
    ended = past(log(OPENED, KNOWN, PROMPTED, bill, TURNED))
    assert ended is not None
    assert (ended.ended, ended.spent_s, ended.usd) == ("done", 12.0, 0.5)


def test_an_iteration_has_its_session_in_brief() -> None:
    begun = (
        e.RunQueued("r1", "scale", "mine", "local", Budget()), e.IterationStarted(*AT, "mine", 0), OPENED, KNOWN,
        PROMPTED, e.PermissionAsked(*AT, "r1.1", 1, "edit", "x"), e.PermissionAnswered(*AT, "r1.1", 1, False, "no"),
        TURNED,
    )  # fmt: skip
    found = fold_all(log(*begun)).runs["r1"].iterations[0].session
    assert found is not None
    assert (found.id, found.own, found.agent, found.turns, found.end) == ("r1.1", "own", "agent 1", 1, "done")
    assert (found.seconds, found.claimed_us, found.foreign, found.refused) == (12.0, 3.5, ("harness.c",), 1)


def test_a_session_that_is_opened_again_goes_on_counting_its_requests() -> None:
    again = past(log(OPENED, KNOWN, e.PermissionAsked(*AT, "r1.1", 3, "edit", "x"), OPENED))
    assert again is not None
    assert again.requests == 3


def known(*facts: e.Fact) -> Past:
    found = past(log(OPENED, *facts))
    assert found is not None
    return found


def test_no_prompt_is_sent_twice_and_only_an_agent_that_loads_goes_on() -> None:
    unable, cut = replace(KNOWN, loads=False), replace(TURNED, end="cut")
    plain = replace(unable, own="")
    assert known().needs_turn(0) and known(KNOWN).needs_turn(0)
    assert known(KNOWN, PROMPTED).needs_turn(0) and known(KNOWN, PROMPTED, cut).needs_turn(0)
    assert not known(KNOWN, PROMPTED, TURNED).needs_turn(0)
    assert known(KNOWN, PROMPTED, TURNED).needs_turn(1), "a repair"
    for agent in (unable, plain):
        assert not known(agent, PROMPTED).needs_turn(0)
        assert not known(agent, PROMPTED, cut).needs_turn(0)


def test_a_turn_that_an_operator_has_cut_does_not_go_on() -> None:
    by_ada, lost = e.TurnCut(*AT, "ada"), replace(TURNED, end="cut")
    for facts in ((by_ada,), (by_ada, lost)):
        cut = known(KNOWN, PROMPTED, *facts)
        assert (cut.needs_turn(0), cut.needs_turn(1), cut.known_end) == (False, True, "stopped")
    assert known(KNOWN, PROMPTED, by_ada, TURNED).known_end == "done"
    assert known(KNOWN, PROMPTED, by_ada, TURNED, PROMPTED, lost).needs_turn(0), "that was the turn before"


def test_the_seconds_of_a_turn_count_once() -> None:
    assert known(KNOWN).left_s(200.0) == 60.0
    assert known(KNOWN, PROMPTED).left_s(last_word=113.0) == 50.0
    assert known(KNOWN, PROMPTED).left_s(last_word=0.0) == 60.0
    assert known(KNOWN, PROMPTED, replace(TURNED, end="cut")).left_s(last_word=115.0) == 48.0


def test_a_turn_on_a_tool_that_goes_on_has_had_what_it_lasted() -> None:
    prompt = e.SmithPrompted(*AT, "r1.1", "build"), e.SmithPrompted(*AT, "r1.1", "build", continues=True)
    facts = ((100.0, prompt[0]), (500.0, prompt[1]))
    events = [e.Event(seq, at, fact) for seq, (at, fact) in enumerate(facts, 1)]
    (turn,) = smith_turns(events[:1])
    assert (turn.lasted_s(130.0), turn.lasted_s(90.0)) == (30.0, 0.0), "until its last word"
    cut = e.Event(2, 140.0, e.SmithTurned(*AT, "r1.1", "build", "cut", 40.0))
    (turn,) = smith_turns([events[0], cut, events[1]])
    assert turn.lasted_s(510.0) == 50.0
