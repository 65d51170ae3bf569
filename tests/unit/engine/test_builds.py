"""What was built is what the log says it was, unless it was built anew."""

import pytest

from kpd.engine.builds import changed_file
from kpd.measure.bench import BuiltObject
from kpd.model.facts.steps import Built

LOGGED = {"kernel.o": "1" * 64, "kernel.so": "2" * 64}


def found(hashes: dict[str, str], job: str = "build-1", made: bool = False) -> BuiltObject:
    return BuiltObject(job, True, "", 0, "", hashes, made)


@pytest.mark.parametrize(
    ("hashes", "name"),
    [
        (LOGGED, ""),
        ({**LOGGED, "kernel.so": "3" * 64}, "kernel.so"),
        ({"kernel.o": "1" * 64}, "kernel.so"),
        ({**LOGGED, "added.o": "4" * 64}, "added.o"),
        ({}, "kernel.o"),
    ],
)
def test_a_file_that_differs_from_the_log_is_named(hashes: dict[str, str], name: str) -> None:
    assert changed_file(Built("r1", 1, 0, 0, "build-1", False, hashes=LOGGED), found(hashes)) == name


def test_what_the_log_does_not_know_is_not_compared() -> None:
    logged = Built("r1", 1, 0, 0, "build-1", False, hashes=LOGGED)
    assert changed_file(Built("r1", 1, 0, 0, "build-1", False), found(LOGGED)) == "", "an older log has no hashes"
    assert changed_file(logged, found({}, job="build-2")) == "", "another compiler"
    assert changed_file(logged, found({}, made=True)) == "", "built anew"
