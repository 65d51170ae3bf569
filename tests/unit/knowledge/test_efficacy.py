"""What came of the rules: counted from kpd's own verdicts, whatever an agent says."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from statistics import median

import pytest
from hypothesis import given, strategies as st

from kpd.knowledge.efficacy import Efficacy, aimed_at, by_efficacy, efficacy
from kpd.model.budget import Budget
from kpd.model.iteration import Expectation, Iteration, Override
from kpd.model.profiles import Finding, Severity
from kpd.model.run import Run
from kpd.model.status import Outcome
from kpd.model.verdicts import Gain, Verdict
from kpd.profile.catalogue import rules
from tests.support.model.samples import done

RULE_IDS = [rule.id for rule in rules()]
PARENT = Iteration(0, "baseline", 0, 0.0, status=done("baseline"), rules=("poor_coalescing", "low_l2_hit"))


def verdict(gain: float, accepted: bool) -> Verdict:
    return Verdict("same", Gain(gain, gain - 1, gain + 1), 7, accepted, "told", told="")


def attempt(number: int, gain: float | None, *aims: str, outcome: Outcome = "rejected") -> Iteration:
    measured = None if gain is None else verdict(gain, outcome == "accepted")
    return Iteration(number, "claude", 0, 0.0, status=done(outcome), aims=aims, verdict=measured)


def run_of(*iterations: Iteration) -> Run:
    return Run("r1", "transpose", "claude", "box", Budget(), 0.0, iterations=(PARENT, *iterations))


def test_fired_tried_accepted_and_the_gains() -> None:
    found = efficacy(
        [
            run_of(
                attempt(1, 20.0, "poor_coalescing", outcome="accepted"),
                attempt(2, -4.0, "poor_coalescing"),
                attempt(3, None, "poor_coalescing", "poor_coalescing", outcome="failed"),
            ),
            run_of(),
        ]
    )
    assert found == {
        "low_l2_hit": Efficacy(fired=2),
        "poor_coalescing": Efficacy(fired=2, tried=3, accepted=1, gains=(20.0, -4.0)),
    }
    assert found["poor_coalescing"].median_pct == 8.0
    assert found["poor_coalescing"].won_pct == pytest.approx(20.0 / 3)
    assert found["low_l2_hit"].median_pct is None


@pytest.mark.parametrize(
    "iteration",
    [
        attempt(1, None, "poor_coalescing", outcome="skipped"),
        attempt(1, None, "poor_coalescing", outcome="infra"),
        attempt(1, None, "poor_coalescing", outcome="interrupted"),
        replace(attempt(1, 5.0, "poor_coalescing"), status=done(None)),
        attempt(1, 5.0, "tail_effect"),
        attempt(1, 5.0, "no_such_rule"),
        attempt(1, 5.0),
        replace(attempt(1, 5.0, "poor_coalescing"), parent=9),
        replace(
            attempt(1, 5.0, "poor_coalescing"),
            verdict=Verdict("undecided", Gain(5.0, -1.0, 11.0), 15, False, "undecided", 1.0),
        ),
    ],
)
def test_what_is_no_try_of_a_rule_that_had_fired(iteration: Iteration) -> None:
    assert efficacy([run_of(iteration)])["poor_coalescing"] == Efficacy(fired=1)


def test_a_candidate_that_is_measured_again_is_no_second_try() -> None:
    first = replace(attempt(1, 1.0, "poor_coalescing"), rules=("low_l2_hit",))
    again = replace(first, number=2, again=1, verdict=verdict(9.0, True), status=done("accepted"))
    assert efficacy([run_of(first, again)]) == efficacy([run_of(first)])


def test_an_override_and_a_claim_are_no_verdict() -> None:
    forced = replace(
        attempt(1, -30.0, "poor_coalescing", outcome="accepted"), override=Override("ada", "I know better")
    )
    forced = replace(forced, verdict=verdict(-30.0, False), memo="90 % faster", expected=Expectation("gbs", "up", 90.0))
    assert efficacy([run_of(forced)])["poor_coalescing"] == Efficacy(1, 1, 0, (-30.0,))


def test_without_a_name_it_aimed_at_the_rules_that_look_at_its_metric() -> None:
    expecting = replace(attempt(1, 7.0), expected=Expectation("coalescing_load_pct", "up"))
    assert aimed_at(expecting, ("low_l2_hit", "poor_coalescing")) == ("poor_coalescing",)
    assert aimed_at(replace(expecting, aims=("tail_effect", "x")), ("poor_coalescing",)) == ("tail_effect",)
    assert aimed_at(replace(expecting, expected=None), ("poor_coalescing",)) == ()
    assert efficacy([run_of(expecting)])["poor_coalescing"].gains == (7.0,)


ITERATIONS = st.lists(
    st.builds(
        Iteration,
        number=st.just(0),
        agent=st.just("claude"),
        parent=st.integers(0, 5),
        started=st.just(0.0),
        status=st.sampled_from((None, "baseline", "accepted", "rejected", "failed", "skipped", "infra")).map(done),
        verdict=st.none() | st.builds(verdict, st.floats(-100, 100), st.booleans()),
        rules=st.lists(st.sampled_from(RULE_IDS[:6]), max_size=3).map(tuple),
        aims=st.lists(st.sampled_from(["nonsense", *RULE_IDS[:6]]), max_size=3).map(tuple),
        expected=st.none() | st.builds(Expectation, st.sampled_from(rules()[0].needs), st.just("up")),
    ),
    max_size=6,
)
RUNS = st.lists(
    ITERATIONS.map(lambda found: run_of(*(replace(one, number=at) for at, one in enumerate(found, start=1)))),
    max_size=4,
)


@given(RUNS)
def test_no_more_is_accepted_than_measured_than_tried(runs: list[Run]) -> None:
    found = efficacy(runs)
    fired = Counter(rule for run in runs for it in run.iterations for rule in set(it.rules))
    assert {rule: one.fired for rule, one in found.items()} == fired
    for one in found.values():
        assert one.accepted <= len(one.gains) <= one.tried
        assert one.median_pct == (median(one.gains) if one.gains else None)
        assert 0.0 <= one.won_pct <= max((0.0, *one.gains))


@given(RUNS, st.randoms())
def test_the_order_of_runs_changes_no_count(runs: list[Run], random: Random) -> None:
    shuffled = list(runs)
    random.shuffle(shuffled)
    one, other = efficacy(runs), efficacy(shuffled)
    assert {rule: replace(found, gains=tuple(sorted(found.gains))) for rule, found in one.items()} == {
        rule: replace(found, gains=tuple(sorted(found.gains))) for rule, found in other.items()
    }


# ── the order in a prompt ─────────────────────────────────────────────────────────────────────────────────────────


def finding(rule: str, severity: Severity = "high") -> Finding:
    return Finding(rule, severity, "", "")


def test_what_has_helped_comes_before_what_is_untried_before_what_was_in_vain() -> None:
    known = {
        "often_in_vain": Efficacy(9, 5, 0, (-1.0,) * 5),
        "once_in_vain": Efficacy(9, 1, 0),
        "untried": Efficacy(9),
        "helped": Efficacy(9, 2, 1, (10.0, -50.0)),
        "helped_more": Efficacy(9, 2, 2, (6.0, 6.0)),
        "but_low": Efficacy(9, 1, 1, (90.0,)),
    }
    given_order = [finding(rule, "low" if rule == "but_low" else "high") for rule in ("but_low", *known)]
    assert [one.rule for one in by_efficacy([*given_order[1:], finding("unknown")], known)] == [
        "helped_more", "helped", "untried", "unknown", "once_in_vain", "often_in_vain", "but_low",
    ]  # fmt: skip


@given(
    st.lists(st.builds(finding, st.sampled_from("abcde"), st.sampled_from(("high", "medium", "low")))),
    st.dictionaries(st.sampled_from("abcde"), st.builds(Efficacy, accepted=st.integers(0, 3), tried=st.integers(0, 3))),
)
def test_nothing_is_lost_and_severity_comes_first(found: Sequence[Finding], known: dict[str, Efficacy]) -> None:
    ordered = by_efficacy(found, known)
    assert Counter(map(repr, ordered)) == Counter(map(repr, found))
    places = [("high", "medium", "low").index(one.severity) for one in ordered]
    assert places == sorted(places)
    assert by_efficacy(found, {}) == tuple(sorted(found, key=lambda one: ("high", "medium", "low").index(one.severity)))


def test_where_nothing_checks_the_results_nothing_is_a_success() -> None:
    run = run_of(attempt(1, 20.0, "poor_coalescing", outcome="accepted"))
    assert efficacy([replace(run, unchecked=True)]) == {}
    assert efficacy([run])["poor_coalescing"].accepted == 1
