"""What of a log goes back to an agent."""

from hypothesis import given, strategies as st

from kpd.engine.steps import MOST_FEEDBACK, feedback


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
