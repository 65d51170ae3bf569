"""What a profile lacks, told once a reason."""

from kpd.model.metrics import GROUPS
from kpd.model.missing import MOST_NAMED, missing_by_reason
from kpd.profile.ncu.metrics import NAMES


def test_a_few_metrics_are_named_and_those_of_several_cases_once() -> None:
    (lack,) = missing_by_reason({"gbs[wide]": "no bytes", "gbs[tall]": "no bytes", "gflops": "no bytes"})
    assert (lack.reason, lack.count, lack.what) == ("no bytes", 2, "memory traffic, arithmetic")


def test_of_many_only_the_groups_are_named_and_the_reason_of_most_comes_first() -> None:
    first, second = missing_by_reason({"gflops": "no flops", **dict.fromkeys(NAMES, "no ncu")})
    assert (first.reason, first.count, second.reason) == ("no ncu", len(NAMES), "no flops")
    number, _, groups = first.what.partition(" metrics: ")
    assert int(number) == len(NAMES) > MOST_NAMED
    assert groups.split(", ") == [group for group in GROUPS if group in groups.split(", ")]
    assert "warp stalls" in groups
    assert "compiler" not in groups, "ptxas has nothing to do with ncu"


def test_a_reason_for_everything_and_a_name_that_nobody_knows() -> None:
    assert [(lack.count, lack.what) for lack in missing_by_reason({"all": "profiling is off"})] == [(1, "")]
    assert missing_by_reason({"odd_name": "why"})[0].what == "odd_name"
    assert missing_by_reason({}) == ()
