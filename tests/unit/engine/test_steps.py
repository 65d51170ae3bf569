"""What of a log goes back to an agent, and when a candidate is profiled without counters."""

from hypothesis import given, strategies as st

from kpd.engine.profiling import why_uncounted
from kpd.engine.steps import MOST_FEEDBACK, feedback
from kpd.model.facts.iterations import MeasurementBroken
from kpd.model.status import StepName
from kpd.model.waits import HostTrouble


@given(st.text(alphabet="ab\n", max_size=40), st.integers(min_value=0, max_value=600))
def test_an_agent_gets_the_beginning_of_a_log_in_whole_lines(line: str, times: int) -> None:
    log = f"{line}\n" * times
    told = feedback(log)
    if len(log) <= MOST_FEEDBACK:
        assert told == log
        return
    kept, _, rest = told.removesuffix("\n").rpartition("\n")
    assert log.startswith(kept + "\n")
    assert rest == f"[{len(log) - len(kept)} more characters]"
    assert MOST_FEEDBACK - len(line) - 2 <= len(kept) <= MOST_FEEDBACK


def test_a_line_without_an_end_is_cut() -> None:
    assert feedback("x" * (MOST_FEEDBACK + 7)) == "x" * MOST_FEEDBACK + "\n[7 more characters]\n"


def test_a_profiler_that_fails_with_a_candidate_costs_it_the_counters_only() -> None:
    def broken(step: StepName) -> MeasurementBroken:
        return MeasurementBroken("r1", 1, step, 1, HostTrouble("host", "ncu was killed"))

    assert why_uncounted("checked", False, [broken("time")]) == ""
    assert why_uncounted("checked", True, [broken("profile")]) == "the profiler failed: ncu was killed"
    assert "profiling is off" in why_uncounted("accepted", False, [])
    assert why_uncounted("accepted", True, []) == ""
