"""Pairs of batches on fresh inputs: in which order, which are compared, and which count."""

import math
from collections.abc import Sequence
from random import Random
from types import SimpleNamespace
from typing import cast

import pytest

from kpd.measure.python.host import anew
from kpd.measure.python.host.anew import COMPARED, FreshPairs, NewInputs, OnDevice
from kpd.measure.python.host.batching import Batch, WarmCase
from kpd.measure.python.host.gathered import DeviceMixtures

Taken = list[tuple[str, bool, bool]]
SETS = 4


def taken(
    monkeypatch: pytest.MonkeyPatch,
    gpu: bool,
    pairs: int,
    counts: Sequence[int] = (SETS,) * 100,
    asked: list[int | None] | None = None,
) -> tuple[FreshPairs, Taken]:
    """The pairs, and all batches in their order: of which side, whether on fresh inputs, and whether one is compared.

    They last 1, 2, 3, … nanoseconds.
    """
    found: Taken = []
    asked = [] if asked is None else asked
    filled: list[object] = []
    lay, show = lambda: filled.append(0), lambda number: None
    inputs = SimpleNamespace(compared=COMPARED, calls=iter(counts).__next__, lay=lay, show=show)
    session = SimpleNamespace(gpu=gpu, probed=lambda side, ns: None)
    warm = SimpleNamespace(work=SimpleNamespace(session=session, rng=Random(3)), calls=None, sets=SETS)

    def batch(
        work: object, calls: object, side: str, rounds: int, looks: float, shown: object = None, sets: int | None = None
    ) -> Batch:
        asked.append(sets)
        assert bool(filled) == (shown is not None)
        compared = looks == 1.0 or (looks > 0.0 and len(found) % 3 == 0)
        found.append((side, bool(filled), compared))
        filled.clear()
        return Batch(len(found), 0, 0, 0, compared, compared)

    monkeypatch.setattr(anew, "batch", batch)
    fresh = FreshPairs(cast(WarmCase, warm), cast(NewInputs, inputs))
    fresh.take(pairs, 1, math.inf, math.inf)
    return fresh, found


def test_each_batch_of_a_pair_has_inputs_of_its_own_and_the_first_of_the_candidates_is_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pairs, found = taken(monkeypatch, True, 6)
    assert all(fresh for _, fresh, _ in found)
    assert [len(times) for times in pairs.times.values()] == [6, 6]
    assert {tuple(sorted(side for side, _, _ in found[at : at + 2])) for at in range(0, 12, 2)} == {("a", "b")}
    assert next(compared for side, _, compared in found if side == "b")


def test_after_a_comparison_a_batch_of_that_side_comes_which_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its next calls are slower, as a result of it is held: the incumbent's, of which none is, are not."""
    pairs, found = taken(monkeypatch, False, 6)
    again = [at + 1 for at, (_, _, compared) in enumerate(found) if compared]
    assert len(again) >= 2
    assert {found[at] for at in again} == {("b", False, False)}
    assert not [ns for times in pairs.times.values() for ns in times if ns - 1 in again]
    assert [len(times) for times in pairs.times.values()] == [6, 6]


@pytest.mark.parametrize(("share", "until"), [(2.5, math.inf), (math.inf, 0.0)])
def test_some_come_whatever_they_take(monkeypatch: pytest.MonkeyPatch, share: float, until: float) -> None:
    pairs, _ = taken(monkeypatch, True, 1)
    pairs.take(9, 3, share, until)
    assert [len(times) for times in pairs.times.values()] == [3, 3]


def test_both_of_a_pair_have_as_many_calls_and_their_times_are_those_of_a_call_on_each_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int | None] = []
    pairs, _ = taken(monkeypatch, True, 3, [1, 2, 4], asked)
    assert asked == [1, 1, 2, 2, 4, 4]
    assert sorted(pairs.times["a"] + pairs.times["b"]) == sorted([1 * 4, 2 * 4, 3 * 2, 4 * 2, 5, 6])


def test_a_device_draws_how_many_calls_a_batch_has() -> None:
    """One in four at the least: who computes the results of later calls in the first one computes some in vain."""
    warm = SimpleNamespace(sets=10, work=SimpleNamespace(rng=Random(3)))
    inputs = OnDevice(cast(WarmCase, warm), cast(DeviceMixtures, None))
    assert {inputs.calls() for _ in range(300)} == set(range(3, 11))
