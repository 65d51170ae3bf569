"""When so few batches of a callable are enough, and where its inputs are drawn."""

from math import inf, nan
from types import SimpleNamespace
from typing import cast

import pytest

from kpd.measure.python.host import fresh, timing
from kpd.measure.python.host.batching import Batch
from kpd.measure.python.host.calling import CallSets
from kpd.measure.python.host.quick import LONG_NS, is_quick, slower
from kpd.measure.python.host.session import RunnerCommand
from kpd.measure.python.host.timing import FAR, FAR_QUADS, far_slower

ENOUGH = 2 * FAR_QUADS


def batches(*ns):
    return [Batch(one, 0, 0, 0, compared=False, known=False) for one in ns]


@pytest.mark.parametrize(
    ("a", "b", "far"),
    [
        ([10] * ENOUGH, [10 * FAR + 1] * ENOUGH, True),
        ([10] * ENOUGH, [10 * FAR] * ENOUGH, False),
        ([10] * (ENOUGH - 1), [10 * FAR + 1] * (ENOUGH - 1), False),
        ([10] * ENOUGH, [10 * FAR + 1] * (ENOUGH - 1) + [10], False),
        ([10] * (ENOUGH - 1) + [11], [10 * FAR + 1] * ENOUGH, False),
    ],
)
def test_a_candidate_that_is_far_slower_in_each_batch_is_timed_in_few(a, b, far):
    """One that is slow at first only is timed as any other."""
    assert far_slower({"a": batches(*a), "b": batches(*b)}) is far


@pytest.mark.parametrize("gpu", [False, True])
def test_children_draw_fresh_inputs_on_a_gpu_only(monkeypatch: pytest.MonkeyPatch, gpu: bool) -> None:
    """On a CPU they would have it while calls are timed: these inputs are drawn between them."""
    ahead = list[bool]()
    monkeypatch.setattr(fresh, "timed", lambda session, *_, **__: ahead.append(session.ahead))
    session = SimpleNamespace(ahead=True, gpu=gpu, harness=SimpleNamespace(cases={"one": {}}))
    fresh.fresh(cast("RunnerCommand", session), "a", "b", "a", "800", "1000")
    assert ahead == [gpu]


@pytest.mark.parametrize(("candidate", "is_slower"), [(1051, True), (1050, False), (500, False)])
def test_no_more_quads_are_taken_of_what_is_slower_in_three_of_four(candidate: int, is_slower: bool) -> None:
    taken = {"a": [1000] * 8, "b": [candidate] * 6 + [900] * 2}
    assert slower(taken) is is_slower
    assert not slower({"a": [], "b": []})


def device_ns(*answers: object) -> dict[str, object]:
    """What is kept of a worker's answers for both sides."""
    said = iter(answers)
    opened = SimpleNamespace(close=lambda: None)
    worker = SimpleNamespace(opened=opened, ask=lambda limit_ms, **what: {"device_ns": next(said)})
    calls = SimpleNamespace(workers=dict.fromkeys("ab", worker), base=0, drawn=[])
    calls.device_ns = lambda side: CallSets.device_ns(cast(CallSets, calls), side)
    return timing.on_device(cast(CallSets, calls))


@pytest.mark.parametrize("said", [nan, inf, -inf, -1.0, 0.0, 10**400, 1, True, "1.0", [1.0], None])
def test_a_time_on_the_device_that_is_none_is_left_out(said: object) -> None:
    """A report with it could not be read, which the host would be blamed for."""
    assert device_ns(2.5, 1.5) == {"device_ns": [2.5, 1.5]}
    assert device_ns(2.5, said) == device_ns(said, 2.5) == {}


@pytest.mark.parametrize(
    ("gpu", "once", "each_ns", "quick"),
    [(True, False, LONG_NS, True), (True, False, LONG_NS + 1, False), (False, False, 1, False), (True, True, 1, False)],
)
def test_only_short_calls_on_a_gpu_that_may_be_repeated_are_timed_by_their_own_process(
    gpu: bool, once: bool, each_ns: int, quick: bool
) -> None:
    assert is_quick(gpu, once, each_ns) is quick
