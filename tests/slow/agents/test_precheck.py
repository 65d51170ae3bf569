"""The gate looks through files of 256 KiB that are made to cost it time."""

from pathlib import Path

import pytest

from tests.support.agents.hygiene import refused


@pytest.mark.parametrize(
    "unit", ["{", "f(int a){", "template<", "((", "a b(c) d(e) ", ";", "f()", "x = ", "a<", "'", "#if\n{"]
)
def test_a_large_file_of_one_thing_over_and_over_is_looked_through(tmp_path: Path, unit: str) -> None:
    refused(tmp_path, unit * ((1 << 18) // len(unit)))
