"""What moved between two profiles."""

import math

from hypothesis import given, strategies as st

from kpd.model.metrics import METRICS
from kpd.profile.changes import changes
from kpd.text.changes import change as told

metrics = st.dictionaries(st.sampled_from(sorted(METRICS)), st.floats(allow_nan=True, allow_infinity=True))


def test_the_largest_change_comes_first_in_plain_words() -> None:
    before = {"ipc": 1.0, "hot_calls": 4, "gbs": 10.0, "clock_ghz": 3.0, "call_us": 8.0}
    after = {"ipc": 2.5, "hot_calls": 0, "gbs": 10.1, "clock_ghz": 2.5, "call_us": 6.0}
    found = changes(before, after)
    assert [change.metric for change in found] == ["hot_calls", "ipc", "call_us", "clock_ghz"]
    assert list(map(told, found)) == [
        "calls: 4, now none",
        "instructions a cycle: up from 1 to 2.5 (2.5 times)",
        "time of a call: down from 8 to 6 µs (-25 %)",
        "clock: down from 3 to 2.5 GHz (-17 %)",
    ]


def test_what_appears_was_not_there_before() -> None:
    assert list(map(told, changes({"hot_stack": 0}, {"hot_stack": 6}))) == [
        "loads and stores of the stack: none before, now 6"
    ]


def test_what_only_one_side_has_and_unknown_names_are_left_out() -> None:
    assert changes({"ipc": 1, "mystery": 1}, {"gbs": 1, "mystery": 9}) == ()


def test_next_to_nothing_may_change_tenfold_without_a_word() -> None:
    before = {"stall_misc": 0.0, "stall_wait": 0.001, "stall_barrier": 0.01, "registers": 16}
    after = {"stall_misc": 1e-4, "stall_wait": 0.004, "stall_barrier": 0.3, "registers": 17}
    assert [change.metric for change in changes(before, after)] == ["stall_barrier", "registers"]


def test_what_is_said_of_all_cases_is_not_said_again_of_each() -> None:
    before = {"gbs": 10.0, "gbs[a]": 10.0, "gbs[b]": 10.0, "sectors_per_store[a]": 32.0}
    after = {"gbs": 20.0, "gbs[a]": 30.0, "gbs[b]": 6.0, "sectors_per_store[a]": 4.0}
    found = changes(before, after)
    assert [change.metric for change in found] == ["sectors_per_store[a]", "gbs", "gbs[b]"]
    assert told(found[0]) == "L2 sectors a store request, a: down from 32 to 4 (-88 %)"


@given(metrics, metrics)
def test_going_back_undoes_every_change(before: dict[str, float], after: dict[str, float]) -> None:
    there, back = changes(before, after), changes(after, before)
    assert {(one.metric, one.before, one.after) for one in there} == {
        (one.metric, one.after, one.before) for one in back
    }
    assert all(math.isfinite(change.before) and math.isfinite(change.after) for change in there)
