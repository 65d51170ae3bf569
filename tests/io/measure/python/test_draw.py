"""Inputs of each kind, in NumPy's arrays and in Python's own."""

import array
import sys

import numpy
import pytest

from kpd.measure.python.host.arrays import GREATEST
from kpd.measure.python.host.draw import LEAST_NORMAL, Draw
from kpd.measure.python.host.harness import KINDS

COUNT = 20_000
CASES = [(dtype, True) for dtype in ("float16", "float32", "float64")] + [("float32", False), ("float64", False)]


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}{'' if case[1] else ', plain'}", name="dtype")
def _dtype(request, monkeypatch) -> str:
    if not request.param[1]:
        monkeypatch.delitem(sys.modules, "numpy")
    return request.param[0]


def drawn(kind: str, dtype: str, seed: int = 7):
    values = Draw(seed, kind).values(COUNT // 4, 4, dtype=dtype)
    assert type(values) is (numpy.ndarray if "numpy" in sys.modules else array.array)
    found = numpy.asarray(values)
    assert found.dtype == dtype
    return found.astype("float64").reshape(-1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_draws_the_same_again_and_no_other_does(kind: str, dtype: str) -> None:
    assert (drawn(kind, dtype) == drawn(kind, dtype)).all()
    assert (drawn(kind, dtype) != drawn(kind, dtype, seed=8)).any()


def test_a_kind_has_the_values_of_its_name(dtype: str) -> None:
    normal, constant, heavy, denormal, large = (drawn(kind, dtype) for kind in KINDS)
    assert abs(normal.mean()) < 0.05 < abs(normal.std() - 1) + 0.1 < 0.15
    assert len(set(constant)) == 1 and 0.5 <= abs(constant[0]) <= 2.0
    assert 0.9 < numpy.median(abs(heavy)) < 1.1 < 1000 < abs(heavy).max() <= GREATEST[dtype]
    tiny = abs(denormal) <= LEAST_NORMAL[dtype]
    assert 0.48 < tiny.mean() < 0.52 and abs(denormal[~tiny].std() - 1) < 0.05
    least, greatest = (256.0, 31200.0) if dtype == "float16" else (1e6, 1e12)
    assert least <= abs(large).min() < 1.1 * least < 0.9 * greatest < abs(large).max() <= greatest
    for values in (normal, heavy, denormal, large):
        assert 0.48 < (values < 0).mean() < 0.52
    assert 0.48 < (denormal[tiny] < 0).mean() + (denormal[tiny] == 0).mean() / 2 < 0.52


def uneven(kind: str, seed: int, kinds: tuple[str, ...] = KINDS) -> numpy.ndarray:
    return Draw(seed, kind, uneven=True, kinds=kinds, moved=True).values(COUNT, dtype="float64")


def test_uneven_constants_are_so_but_for_a_few_elements() -> None:
    found = [uneven("constant", seed) for seed in range(20)]
    usual = [float(numpy.sort(values)[COUNT // 2]) for values in found]
    assert {0.0} < set(usual), "half of them are zeros"
    assert all(1 <= (values != one).sum() <= 3 for values, one in zip(found, usual, strict=True))
    assert any(abs(values).max() >= 1e6 for values in found)
    assert all(abs(uneven("constant", seed, ("normal", "constant"))).max() < 10 for seed in range(20))


def test_half_of_the_others_have_a_stretch_of_another_magnitude_and_a_quarter_are_moved() -> None:
    smaller = larger = moved = 0
    for seed in range(40):
        usual = Draw(seed, "normal").values(COUNT, dtype="float64")
        found = uneven("normal", seed, ("normal", "large"))
        times = found / usual
        (changed,) = numpy.nonzero(times != 1.0)
        if len(changed) == COUNT and abs(found).min() > 70:
            assert numpy.ptp(found - usual) < 1e-9 and 84 <= abs(found - usual)[0] <= 104
            moved += 1
        elif len(changed):
            assert len(set(times[changed])) == 1 and changed[-1] - changed[0] == len(changed) - 1
            smaller, larger = smaller + (times[changed[0]] < 0.1), larger + (times[changed[0]] > 10)
    assert smaller >= 4 <= larger and 12 <= smaller + larger <= 28
    assert 4 <= moved <= 16


def test_a_few_of_the_others_are_constant_where_constant_inputs_are_promised() -> None:
    found = [uneven("normal", seed) for seed in range(80)]
    assert 3 <= sum(len(set(values)) == 1 for values in found) <= 20
    assert all(len(set(uneven("normal", seed, ("normal", "large")))) > 1 for seed in range(80))
