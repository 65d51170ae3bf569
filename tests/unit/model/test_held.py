"""Winners with flags: how the log folds, what a person's answers change, what is learned, and how they are told."""

from dataclasses import replace

import pytest

from kpd.cli.held import lines
from kpd.engine.plan import Iterate, next_action
from kpd.knowledge.efficacy import efficacy
from kpd.model import codec, events as e
from kpd.model.agents import AGAIN
from kpd.model.budget import Budget
from kpd.model.causes import Flagged
from kpd.model.flags import Calls, Executes, Flag, HasSection, InSource, NotInspected, Replaces, RunsAtLoad
from kpd.model.fold import fold_all
from kpd.model.headline import headline
from kpd.model.iteration import Override
from kpd.model.kinds import Told
from kpd.model.run import Run
from kpd.model.verdicts import Gain, Verdict
from kpd.operations.iterations import AcceptIteration, is_outdated
from kpd.operations.operation import RunIteration
from kpd.operations.reviews import ApproveCandidate, DeclineCandidate
from kpd.text import json_views, signs
from kpd.text.flags import flag, flags
from kpd.text.headlines import base, headline as told

VERDICT = Verdict("faster", Gain(3.1, 2.4, 3.8), 7, True, "told", told="faster beyond doubt")
CLOCK = Calls("clock_gettime")
WON = (
    e.RunQueued("r1", "scale", "claude", "local", Budget()),
    e.RunStarted("r1", "a CPU"),
    e.IterationStarted("r1", 0, "baseline", 0),
    e.Accepted("r1", 0, {}),
    e.IterationEnded("r1", 0, "baseline", Flagged(VERDICT, ())),
    e.IterationStarted("r1", 1, "claude", 0),
    e.Screened("r1", 1, 0, 0, (InSource("kernel.py:1", "prints"),)),
    e.Timed("r1", 1, 0, 0, 1.0, 7, ()),
    e.Judged("r1", 1, 0, 0, VERDICT, flags=(CLOCK,)),
    e.IterationEnded("r1", 1, "held", Flagged(VERDICT, (CLOCK,))),
)


def run_after(*more: e.Fact) -> Run:
    return fold_all(e.Event(seq, float(seq), fact) for seq, fact in enumerate((*WON, *more), 1)).runs["r1"]


def test_a_held_winner_counts_and_waits() -> None:
    run = run_after()
    it = run.iterations[1]
    assert (it.outcome, it.hold, it.review, run.held, run.incumbent) == ("held", "waits", "", (it,), 0)
    assert it.flags == (InSource("kernel.py:1", "prints"), CLOCK)
    assert (it.counts, len(run.without_gain)) == (True, 1)
    assert signs.of_iteration(it) == signs.OUTCOMES["held"]


@pytest.mark.parametrize(
    ("fact", "hold", "word", "incumbent"),
    [
        (e.Declined("r1", 1, "no"), "declined", "declined", 0),
        (e.Approved("r1", 1), "approved", "approved", 0),
        (e.Accepted("r1", 1, {}, Override("ada")), "approved", "by hand", 1),
    ],
)
def test_a_persons_answer_empties_the_list(fact: e.Fact, hold: str, word: str, incumbent: int) -> None:
    run = run_after(fact)
    assert (run.held, run.iterations[1].hold, run.incumbent) == ((), hold, incumbent)
    assert signs.of_iteration(run.iterations[1]).word == word


def test_an_older_log_has_flags_in_words() -> None:
    fact = codec.fact_from("screened", '{"run": "r1", "iteration": 1, "seconds": 0, "overhead_s": 0, "flags": ["odd"]}')
    assert fact == e.Screened("r1", 1, 0, 0, (Told("odd"),))


def test_rules_learn_nothing_from_it_until_a_person_has_accepted_it() -> None:
    fired = e.Explained("r1", 1, 0, 0, "memory")
    assert efficacy([run_after(fired)]) == {}
    assert json_views.run(run_after())["held"][0]["flags"][1]["text"] == "calls clock_gettime, which no kernel needs"


def test_it_is_accepted_and_declined_but_not_approved() -> None:
    state = fold_all(e.Event(seq, float(seq), fact) for seq, fact in enumerate(WON, 1))
    place = RunIteration(state.runs["r1"], state.runs["r1"].iterations[1])
    assert AcceptIteration(iteration="r1.1").why_not(state, place) is None
    assert DeclineCandidate().target(state) == place
    assert DeclineCandidate().why_not(state, place) is None
    refused = ApproveCandidate(iteration="r1.1").why_not(state, place)
    assert refused is not None
    assert refused.remedy == "kpd accept r1.1"


def test_one_that_is_outdated_is_measured_again_also_in_a_run_that_has_ended() -> None:
    more = (
        e.IterationStarted("r1", 2, "claude", 0),
        e.Accepted("r1", 2, {}),
        e.IterationEnded("r1", 2, "accepted", CAUSE),
    )
    for over in (False, True):
        end = (e.RunEnded("r1", "improved", Told("done")),) if over else ()
        asked = (e.Approved("r1", 1, "ada"), e.AgainAsked("r1", 1, by="ada"))
        state = fold_all(e.Event(seq, float(seq), fact) for seq, fact in enumerate((*WON, *more, *end), 1))
        run = state.runs["r1"]
        place = RunIteration(run, run.iterations[1])
        assert is_outdated(place) and AcceptIteration(iteration="r1.1").why_not(state, place) is None
        waiting = run_after(*more, *end, *asked)
        assert next_action(waiting) == Iterate(3, AGAIN, of=1)
        once_more = AcceptIteration(iteration="r1.1").why_not(state, RunIteration(waiting, waiting.iterations[1]))
        assert once_more is not None and "already" in once_more.message, "it is measured once for one who asks twice"


CAUSE = Flagged(VERDICT, ())


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (CLOCK, "calls clock_gettime, which no kernel needs"),
        (Replaces("memcpy"), "replaces memcpy for other code"),
        (Executes("rdtsc", "clock"), "has the instruction rdtsc, which reads a clock"),
        (RunsAtLoad("early"), "runs code when it is loaded: early"),
        (HasSection(".mine"), "has the section .mine, which no kernel needs"),
        (NotInspected("no objdump"), "could not be inspected: no objdump"),
        (InSource("kernel.py:3", "prints"), "kernel.py:3 prints"),
        (Told("odd"), "odd"),
    ],
)
def test_each_flag_is_told_in_one_line(found: Flag, told: str) -> None:
    assert flag(found) == told


@pytest.mark.parametrize(("count", "more"), [(3, ""), (4, "; and 1 more")])
def test_three_flags_are_told(count: int, more: str) -> None:
    told = flags(tuple(Calls(f"f{nth}") for nth in range(count)))
    assert told == "; ".join(f"calls f{nth}, which no kernel needs" for nth in range(3)) + more


def test_the_list_says_what_was_found_and_what_to_do() -> None:
    listed = list(lines("r1", json_views.iteration(run_after().iterations[1]), None))
    assert listed[1:] == [
        "  ! kernel.py:1 prints",
        "  ! calls clock_gettime, which no kernel needs",
        "  r1.1 won, but it is flagged: kpd diff r1.1, then kpd accept r1.1 or kpd decline r1.1",
    ]


def test_a_held_first_right_candidate_is_the_baseline_once_a_person_accepts_it() -> None:
    """As in a task whose own files are absent: nothing was the incumbent when it was measured."""
    facts: list[e.Fact] = [*WON[:2], e.TaskPinned("r1", {}, {}, own_files="absent")]
    facts += [e.IterationStarted("r1", 0, "claude", 0), e.Timed("r1", 0, 0, 0, 1.0, 7, ())]
    facts += [e.Judged("r1", 0, 0, 0, VERDICT, flags=(CLOCK,)), e.IterationEnded("r1", 0, "held", CAUSE)]
    held = fold_all(e.Event(seq, float(seq), fact) for seq, fact in enumerate(facts, 1)).runs["r1"]
    assert (held.incumbent, held.baseline, next_action(held)) == (None, None, Iterate(1, "claude"))
    assert not is_outdated(RunIteration(held, held.iterations[0])), "it was measured without an incumbent, too"
    facts.append(e.Accepted("r1", 0, {}, Override("ada")))
    run = fold_all(e.Event(seq, float(seq), fact) for seq, fact in enumerate(facts, 1)).runs["r1"]
    assert (run.first_right, run.incumbent, run.held) == (0, 0, ())
    assert headline(run) is None
    facts += [e.IterationStarted("r1", 1, "claude", 0), e.Judged("r1", 1, 0, 0, VERDICT), e.Accepted("r1", 1, {})]
    facts.append(e.IterationEnded("r1", 1, "accepted", CAUSE))
    run = fold_all(e.Event(seq, float(seq), fact) for seq, fact in enumerate(facts, 1)).runs["r1"]
    found = headline(run)
    assert found is not None and found.first == 0
    assert f"{told(found, based=True)}, {base(found)}".count("over") == 1
    assert base(found) == "over iteration 0, the first right candidate, as the task's own files are no right baseline"
    other = RunIteration(run, replace(held.iterations[0], number=2, parent=2))
    assert is_outdated(other), "another is the incumbent by now"
