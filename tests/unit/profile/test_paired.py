"""Everything told of a candidate beside its incumbent is of one contest: no sign contradicts the verdict."""

import re
from dataclasses import replace
from functools import cache
from math import log
from random import Random

import pytest
from hypothesis import given, strategies as st

from kpd.demo.recording import load
from kpd.knowledge.entries import measured
from kpd.measure.judge import judge
from kpd.measure.samples import CaseSample, ProcessSample
from kpd.model import events as e
from kpd.model.detail import Detail, detail
from kpd.model.fold import fold_all
from kpd.model.headline import headline
from kpd.model.iteration import Iteration
from kpd.model.metrics import METRICS
from kpd.model.profiles import CaseTime, MetricChange
from kpd.model.run import Run
from kpd.model.verdicts import Gain, Verdict
from kpd.profile.catalogue import profiler_of
from kpd.profile.paired import RATES, TIMES, beside, bottleneck_beside, incumbent_metrics
from kpd.text.endings import of_iteration
from tests.places import ROOT
from tests.support.model.samples import done, run_of

SHIPPED = ROOT / "kpd" / "demo" / "h100.tar.xz"
OWN = ("r1", 1, 0.5, 0.0)


def profiled(us: float, roofline: float, pct: float = 0.0) -> Detail:
    """A candidate that took `us` in its contest, and was `pct` percent better than its incumbent there."""
    verdict = Verdict("faster" if pct > 0 else "slower", Gain(pct, pct - 1, pct + 1), 7, pct > 0, "confirmed", 1.0)
    case = CaseTime("a", us, us / (1 - pct / 100), pct)
    return Detail(
        timed=e.Timed(*OWN, us, 7, (case,)),
        judged=e.Judged(*OWN, verdict),
        profiled=e.Profiled(*OWN, {"call_us": us, "call_us[a]": us, "roofline_pct": roofline, "ipc": 2.0}),
        explained=e.Explained(*OWN, "memory bound"),
    )


@given(st.floats(-80, 80), st.floats(0.3, 3.0))
def test_a_slower_host_changes_no_sign(pct: float, slower: float) -> None:
    kept = 1 - pct / 100
    incumbent, found = profiled(100.0, 40.0), profiled(slower * 100 * kept, 40 / slower / kept, pct)
    before = incumbent_metrics(found, incumbent)
    assert before["call_us"] == pytest.approx(slower * 100) == before["call_us[a]"]
    assert before["roofline_pct"] == pytest.approx(40 / slower)
    assert before["ipc"] == 2.0, "a counter stays as it was counted"
    shown, beneath = beside(found, incumbent)
    assert beneath.profiled is not None and beneath.profiled.metrics == before
    assert shown.explained is not None
    _check(shown.explained.changes, pct)


def test_what_was_not_profiled_has_nothing_beside_it() -> None:
    assert incumbent_metrics(profiled(1.0, 2.0, 3.0), Detail()) == {}
    assert beside(Detail(), profiled(1.0, 2.0)) == (Detail(), profiled(1.0, 2.0))


def test_a_time_on_the_device_is_the_incumbents_of_this_contest_or_none() -> None:
    incumbent, found = profiled(100.0, 40.0), profiled(50.0, 80.0, 50.0)
    assert incumbent.profiled is not None and found.timed is not None
    metrics = {**incumbent.profiled.metrics, "device_us": 90.0, "launch_overhead_pct": 10.0}
    incumbent = replace(incumbent, profiled=replace(incumbent.profiled, metrics=metrics))
    assert not {"device_us", "launch_overhead_pct"} & incumbent_metrics(found, incumbent).keys()
    cases = tuple(replace(case, incumbent_device_us=95.0) for case in found.timed.cases)
    before = incumbent_metrics(replace(found, timed=replace(found.timed, cases=cases)), incumbent)
    assert before["device_us"] == before["device_us[a]"] == 95.0


# ── over a recorded run ───────────────────────────────────────────────────────────────────────────────────────────


@cache
def recorded() -> tuple[Run, dict[int, Detail]]:
    events = load(SHIPPED).events
    run = fold_all(events).runs["r1"]
    own = ((event, getattr(event.fact, "iteration", None)) for event in events)
    by_number = {it.number: [] for it in run.iterations}
    for event, number in own:
        by_number.get(number, []).append(event)
    return run, {number: detail(found) for number, found in by_number.items()}


def judged() -> list[Iteration]:
    return [it for it in recorded()[0].iterations if it.verdict is not None and it.outcome != "baseline"]


@pytest.mark.parametrize("it", judged(), ids=lambda it: str(it.number))
def test_no_sentence_of_a_recorded_iteration_contradicts_its_verdict(it: Iteration) -> None:
    run, details = recorded()
    assert it.verdict is not None and it.cause is not None and it.outcome is not None
    pct = it.verdict.gain.pct
    shown, before = beside(details[it.number], details[it.parent])
    assert shown.explained is not None and before.profiled is not None and shown.profiled is not None
    _check(shown.explained.changes, pct)
    remembered = "\n".join(measured(run, it, it.outcome, it.cause, before.profiled.metrics, shown.profiled.metrics))
    for text in (of_iteration(it), remembered):
        assert ("less time" in text) <= (pct >= 0) or "expected" in text
        assert not re.search(r"[-−]\d+(\.\d+)? % (less|more)|−0\.0\b", text)


def _check(changes: tuple[object, ...], pct: float) -> None:
    """Every time and rate of all cases that has moved has moved the way the verdict says."""
    for change in changes:
        if isinstance(change, MetricChange) and change.metric in TIMES + RATES:
            better = METRICS[change.metric].better
            assert ((change.after > change.before) == (better == "up")) == (pct > 0), change


# ── a host whose speed changes ────────────────────────────────────────────────────────────────────────────────────


def contest(incumbent: float, candidate: float, host: float, random: Random) -> Verdict:
    """Judge a contest of two kernels whose calls take so long, on a host that is `host` times slower than usual."""

    def batches(us: float) -> tuple[float, ...]:
        return tuple(1000 * us * host * random.gauss(1, 0.005) for _ in range(20))

    cases = [{"a": CaseSample(1, batches(incumbent), batches(candidate))} for _ in range(9)]
    return judge((ProcessSample(number, case) for number, case in enumerate(cases)), 1.0)


@given(st.lists(st.floats(1.02, 4.0), min_size=1, max_size=6), st.integers(0, 1000))
def test_with_a_host_that_slows_down_in_between_the_number_is_that_of_a_direct_contest(
    factors: list[float], seed: int
) -> None:
    random, us = Random(seed), 100.0
    its = [Iteration(0, "baseline", 0, 0.0, status=done("baseline"), score=us)]
    for number, factor in enumerate(factors, 1):
        host = 1.5 if number % 2 else 1.0
        verdict = contest(us, us / factor, host, random)
        us /= factor
        its.append(
            Iteration(number, "sweep", number - 1, 0.0, status=done("accepted"), verdict=verdict, score=us * host)
        )
    shown, direct = headline(run_of(*its)), contest(100.0, us, 1.5, random).gain.speedup
    assert shown is not None
    assert abs(log(shown.speedup.ratio / direct.ratio)) < log(1.05)
    if len(factors) == 1:
        by_scores = 100.0 / (us * 1.5)
        assert abs(log(by_scores / direct.ratio)) > log(1.3), "which scores of different contests would miss"


@given(st.floats(1, 90), st.floats(0.2, 0.99), st.floats(0.3, 3.0))
def test_a_bottleneck_stands_beside_the_incumbents_of_the_same_contest(
    share: float, kept: float, slower: float
) -> None:
    """On a slower host both shares fall, so they never say the opposite of the verdict."""
    incumbent = profiled(100.0, share)
    found = profiled(slower * 100 * kept, share / slower / kept, 100 * (1 - kept))
    assert found.profiled is not None
    said = bottleneck_beside(profiler_of("cpu"), found.profiled.metrics, incumbent_metrics(found, incumbent), 3)
    shares = [int(one) for one in re.findall(r"(\d+) %", said)]
    assert len(shares) == 2 and shares[0] >= shares[1]
    assert re.search(r"; iteration 3 had \d+ %( and was latency bound)? in the same contest$", said)


@pytest.mark.parametrize(
    ("before", "told"),
    [
        ({"roofline_pct": 12.0}, "roofline bound: 62 % of the roofline, some room left; iteration 3 had 12 % and was"
         " latency bound in the same contest"),
        ({"roofline_pct": 55.0}, "roofline bound: 62 % of the roofline, some room left; iteration 3 had 55 % in the"
         " same contest"),
        ({}, "roofline bound: 62 % of the roofline, some room left, as measured then"),
    ],
)  # fmt: skip
def test_a_share_that_stands_alone_is_marked(before: dict[str, float], told: str) -> None:
    assert bottleneck_beside(profiler_of("cpu"), {"roofline_pct": 62.0}, before, 3) == told
    assert bottleneck_beside(profiler_of("cpu"), {"ipc": 2.0}, {}, 3).endswith("a cycle")
