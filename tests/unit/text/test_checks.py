"""What a check could not see is told."""

from kpd.measure.bench import CheckPassed
from kpd.text.checks import sizes


def test_only_sizes_that_were_not_checked_are_told() -> None:
    assert sizes(CheckPassed(10, 0.5, "", drawn=9)) == ""
    told = sizes(CheckPassed(10, 0.5, "", drawn=9, unchecked=4))
    assert told == "4 of 9 drawn sizes not checked: the task's own kernel gives no right results there"
