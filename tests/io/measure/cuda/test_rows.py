"""Calls on fresh inputs in CUDA, on the CPU stand-in: one by one, and in a row as in a contest."""

import re
from itertools import pairwise

import pytest

from tests.support.measure.cuda_driver import Driver, build


@pytest.fixture(scope="module", name="driver")
def _driver(tmp_path_factory: pytest.TempPathFactory) -> Driver:
    return build(tmp_path_factory.mktemp("rows"))


def test_both_kernels_are_called_in_rows_besides_single_calls(driver: Driver) -> None:
    """A call that other work on the CPU makes long is in no row: then once more."""
    for _ in range(5):
        found = driver.fresh(mode="rows")
        assert found["problem"] is None
        if all("rows" in case for case in found["cases"].values()):
            break
    assert found["cases"].keys() == {"4000", "6001"}
    for case in found["cases"].values():
        rows = case["rows"]
        assert rows["calls"] in range(2, 257)
        assert len(rows["a_ns"]) == len(rows["b_ns"]) == rows["compared"] >= 3
        assert min(*rows["a_ns"], *rows["b_ns"]) > 0
        assert len(case["a_ns"]) >= 4


def test_rows_are_taken_only_where_they_are_asked_for(driver: Driver) -> None:
    found = driver.fresh()
    assert found["problem"] is None
    assert all("rows" not in case for case in found["cases"].values())


def test_a_wrong_result_in_a_row_is_found(driver: Driver) -> None:
    """Of calls that follow one another it makes the first one only: one by one it is right."""
    assert driver.fresh("hurries")["problem"] is None
    problem = driver.fresh("hurries", "rows")["problem"]
    assert (problem["kind"], problem["who"], problem["when"]) == ("wrong", "candidate", "fresh inputs")


def test_what_the_other_kernel_has_left_in_the_outputs_is_not_there(driver: Driver) -> None:
    assert driver.fresh("finds", "rows", budget_ms=400)["problem"] is None


@pytest.mark.parametrize("mode", ["fresh", "rows"])
def test_work_that_goes_on_beside_the_clock_is_found(driver: Driver, mode: str) -> None:
    problem = driver.fresh("aside", mode)["problem"]
    assert (problem["kind"], problem["who"], problem["when"]) == ("device", "candidate", "fresh inputs")
    assert re.match("the kernel leaves the device at work for ", problem["message"])


def test_a_launcher_cannot_tell_where_the_next_calls_inputs_lie(driver: Driver) -> None:
    """A slow machine has few calls in a row: then once more."""
    most = 0
    for _ in range(5):
        said = driver.bench(*driver.audited("tells", "rows")).stderr
        places = [int(place, 16) for place in re.findall("called on (0x[0-9a-f]+)", said)]
        most = max(most, len({after - before for before, after in pairwise(places[-20:])}))
        if most > 5:
            break
    assert most > 5
