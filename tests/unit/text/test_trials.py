"""Trials in words."""

import pytest

from kpd.model.defects import Crashed, WrongResult
from kpd.model.faults import Incorrect, NotBuilt
from kpd.model.flags import Calls
from kpd.model.profiles import CaseTime
from kpd.model.trials import TrialBudget, Tried
from kpd.model.verdicts import Gain
from kpd.model.waits import HostTrouble
from kpd.text.trials import MOST_CASES, cases, left, tried


def case(number: int) -> CaseTime:
    return CaseTime(f"n{number}", 10.0, 12.5, 20.0, roofline_us=5.0)


def test_a_measured_trial_has_its_interval_and_says_that_it_decides_nothing() -> None:
    found = Tried("r1", 2, 3, "measured", 1, 4.2, Gain(3.1, 2.4, 3.8, 0.95), 3, (case(1),), flags=(Calls("clock"),))
    first, of_case, flags = tried(found).splitlines()
    assert first.startswith("trial 3 against iteration 1: 3.1 % less time [2.4, 3.8], 95 % interval of 3 processes;")
    assert first.endswith("decides nothing: kpd measures what lies in the tree at the end")
    assert of_case == "- n1: 10 µs, incumbent 12.5 µs (1.25×); 50.0 % of the roofline"
    assert flags == "flags: calls clock, which no kernel needs"


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (Tried("r1", 2, 1, "not_built", 0, fault=NotBuilt("no ;"), feedback="k.c:1: no ;"), "build: no ;\nk.c:1: no ;"),
        (Tried("r1", 2, 1, "wrong", 0, fault=Incorrect(WrongResult(Crashed(11)))), "incorrect: "),
        (Tried("r1", 2, 1, "trouble", 0, trouble=HostTrouble("busy", "too busy")), "not measured: too busy"),
        (Tried("r1", 2, 1, "cut", 0), "cut off before it was measured"),
    ],
)
def test_a_trial_without_figures_says_why(found: Tried, says: str) -> None:
    assert says in tried(found)


def test_of_many_cases_the_first_are_told_and_the_rest_counted() -> None:
    assert len(cases(map(case, range(MOST_CASES)))) == MOST_CASES
    assert cases(map(case, range(MOST_CASES + 1)))[-1] == "and 1 more"


def test_what_is_left() -> None:
    assert left(TrialBudget(3, 59.6)) == "left: 3 trials, 60 s on the device"
