"""Where the playing stands: every moment once, in order, whatever is pressed meanwhile."""

from hypothesis import given, strategies as st

from kpd.demo.playhead import LONGEST_S, WHOLE_S, Playhead, lasts, own_speed
from kpd.model.playback import SPEEDS

gaps = st.lists(st.floats(0, 500), min_size=1, max_size=30)


def test_a_moment_comes_when_its_wait_is_over() -> None:
    head = Playhead([0, 1, 0.5], 1, now=50.0)
    assert head.advance(50.0) == range(0, 1)
    assert head.due() == 1.0
    assert head.advance(50.9) == range(1, 1)
    assert head.advance(51.0) == range(1, 2)
    assert head.advance(60.0) == range(2, 3)
    assert head.over
    assert head.due() is None


def test_twice_the_speed_is_half_the_wait_from_now_on() -> None:
    head = Playhead([0, 2], 1, now=0.0)
    head.advance(1.0)
    head.speed = 2
    assert head.due() == 0.5
    assert head.advance(1.5) == range(1, 2)


def test_a_pause_takes_no_recorded_time() -> None:
    head = Playhead([0, 1], 1, now=0.0)
    head.advance(0.5)
    head.playing = False
    assert head.advance(1000.0) == range(1, 1)
    assert head.due() is None
    head.playing = True
    assert head.due() == 0.5


def test_a_long_wait_is_cut() -> None:
    head = Playhead([0, 1000], 2, now=0.0)
    head.advance(0.0)
    assert head.due() == LONGEST_S


def test_a_jump_pauses_there_and_the_next_wait_begins_anew() -> None:
    head = Playhead([0, 1, 1, 1], 1, now=0.0)
    head.advance(0.9)
    assert head.jump(3) == range(1, 3)
    assert not head.playing
    head.playing = True
    assert head.due() == 1.0
    assert head.jump(99) == range(3, 4)
    assert head.over


def test_no_jump_leads_back() -> None:
    head = Playhead([0, 1, 1, 1], 1, now=0.0)
    head.jump(3)
    assert head.jump(1) == range(3, 3)
    assert head.next == 3


@given(gaps, st.sampled_from(SPEEDS), st.lists(st.floats(0, 5), max_size=60))
def test_every_moment_comes_once_and_in_order(waits: list[float], speed: int, passing: list[float]) -> None:
    head = Playhead(waits, speed, now=0.0)
    now, seen = 0.0, []
    for by in passing:
        now += by
        seen += head.advance(now)
    seen += head.advance(now + lasts(waits, speed) + 1.0)
    assert seen == list(range(len(waits)))


@given(gaps, st.sampled_from(SPEEDS))
def test_no_wait_is_longer_than_it_may_be(waits: list[float], speed: int) -> None:
    head = Playhead(waits, speed, now=0.0)
    now = 0.0
    while (due := head.due()) is not None:
        assert due <= LONGEST_S
        now += due + 1e-6
        head.advance(now)
    assert head.over


@given(st.lists(st.floats(0, 500), min_size=1, max_size=50))
def test_a_recording_of_a_usual_length_is_over_in_time_at_its_own_speed(waits: list[float]) -> None:
    assert lasts(waits, own_speed(waits)) <= max(WHOLE_S, lasts(waits, SPEEDS[-1]))


def test_a_short_recording_is_not_hurried() -> None:
    assert own_speed([0, 1, 1, 1]) == 1
