"""A plain sum in one float is within the tolerance of the shipped task that sums up whole rows, whatever is drawn."""

import re

import numpy as np
import pytest

from kpd.workspace.shipped import shipped
from kpd.workspace.task import load_task

FOLDER = shipped("tasks") / "rmsnorm_silu_cpu"
HARNESS = (FOLDER / "harness.c").read_text()
LIMIT = int(re.findall(r"\.most = (\d+)", HARNESS)[0])
CASES = re.findall(r'\{"\d+x\d+", \{\d+, (\d+)\}\}', HARNESS)
ROUNDED = 1e-6
"""What the other operations of a row are off by: a few steps of a float."""


def worst(terms: int) -> float:
    """Return by how much 1 / sqrt(mean) is off at the most if so many equal squares are added up in one float.

    Squares of 1 to 4 are all there are: those of other values are these, times a power of 4.
    """
    values = np.geomspace(1.0, 2.0, 257)[1:-1].astype(np.float32)
    squares = values * values
    sums = np.add.accumulate(np.tile(squares, (terms, 1)), axis=0, dtype=np.float32)[-1]
    return float(np.abs(np.sqrt(sums / (terms * values.astype(np.float64) ** 2)) - 1).max())


def test_no_row_is_longer_than_a_plain_sum_can_take() -> None:
    rtol = load_task(FOLDER).check.rtol
    assert rtol is not None
    assert len(CASES) == 4
    assert max(map(int, CASES)) <= LIMIT
    assert worst(LIMIT) + ROUNDED < rtol
    assert rtol > LIMIT * 2.0**-24 * 3 / 16 + ROUNDED, "the most that any equal terms could make of it"
    assert worst(2 * LIMIT) > rtol, "a kernel like this was refused in one of twenty draws of such rows"


@pytest.mark.parametrize("lanes", [2, 8])
def test_a_sum_in_lanes_is_no_less_exact(lanes: int) -> None:
    assert worst(LIMIT // lanes) <= worst(LIMIT)
