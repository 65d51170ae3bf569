"""What `kpd compare show` prints: both sides, the test once it is over, and where tools were used."""

from dataclasses import replace

import pytest

from kpd.cli.compare import _report
from kpd.daemon.comparison_report import ToolUse, report
from kpd.model.budget import Budget
from kpd.model.codec import jsonable
from kpd.model.comparison import ToolComparison
from kpd.model.kinds import Told
from kpd.model.status import Ended
from kpd.text import comparisons as text
from tests.support.model.compared import TOOLS, run
from tests.support.model.samples import done

USED = ToolUse(True, 2, ("count",), True)


def shown(ratio: float, over: bool = True, trials: int = 4) -> str:
    """A report: runs with tools are `ratio` times as fast, and in the last of them none was active."""
    order = ("plain", "tools") * trials
    made = ToolComparison("c1", "task", "mine", "local", Budget(), order, TOOLS, 7, 0.0, {})
    plain = [(run(1.1 + nth / 100), ToolUse()) for nth in range(trials)]
    tools = [(run((1.1 + nth / 90) * ratio, "tools"), USED) for nth in range(trials - 1)]
    last = (run(3.0, "tools"), ToolUse())
    runs = [each for pair in zip(plain, [*tools, last], strict=True) for each in pair]
    found = report(made, over, runs)
    told = {
        **jsonable(made), **jsonable(found), "shown": TOOLS, "trials": trials,
        "runs": [
            {**jsonable(one), "reason": text.invalid(one.invalid, of)}
            for one, (of, _) in zip(found.runs, runs, strict=True)
        ],
        "times": found.times and {"text": text.interval(found.times.median, found.times.low, found.times.high)},
        "text": text.conclusion(found.conclusion, trials, found.p),
    }  # fmt: skip
    return "\n".join(_report(told, 120))


@pytest.mark.parametrize(
    ("ratio", "trials", "says"),
    [
        (2.0, 4, "no difference shown (p = "),
        (2.0, 8, "runs with the tools ended faster"),
        (0.5, 8, f"runs with the tools ended slower (p = 0.00016)\n  kpd tools retire {TOOLS[0]}"),
    ],
)
def test_a_report_says_what_is_shown_by_whom_it_was_used_and_what_is_invalid(
    ratio: float, trials: int, says: str
) -> None:
    told = shown(ratio, trials=trials)
    assert says in told and "rank test         p = " in told and "of valid runs alone" in told
    assert f"tools were used before the accepted candidate in {trials - 1} of {trials} runs with them" in told
    assert told.count(" yes ") == trials - 1 and told.count("invalid") == 1
    assert "r1 does not count: no tool was active in its session" in told


def test_before_the_end_there_is_no_test() -> None:
    told = shown(2.0, over=False)
    assert "it is under way: nothing is concluded before its end" in told
    assert "rank test" not in told and "faster with them" in told


def test_a_run_without_a_measured_attempt_says_how_its_last_one_ended() -> None:
    base, tried = run(None).iterations
    broken = replace(tried, status=done("failed", Told("does not build")))
    told = text.invalid("failed", run(None, iterations=(base, broken)))
    assert told == "no attempt of it was measured: does not build"
    ended = Ended("failed", Told("another start"), 9.0)
    assert text.invalid("failed", run(None, iterations=(), status=ended)).endswith(": another start")
