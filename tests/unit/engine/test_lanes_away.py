"""Lanes whose allocations end: what they were at goes on elsewhere, or waits."""

from hypothesis import given, settings, strategies as st

from kpd.engine.placement import devices_in_use
from kpd.engine.plan import End, Iterate, next_action
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.headline import floors
from kpd.model.lanes import current_in, first_lane
from kpd.model.waits import ForTurn, HostTrouble
from tests.support.drawn import examples
from tests.support.engine.lane_story import Story


def lost(story: Story, *lanes: int) -> None:
    story.emit(e.LanesChanged("r1", story.run.more, lanes))


def test_what_a_lane_was_at_goes_on_in_the_first_that_is_there_and_stays_there() -> None:
    story = Story(3, Budget(9, 9))
    story.measure_noise()
    for lane in range(3):
        story.begin(lane)
    story.emit(e.RunWaits("r1", ForTurn("box", "r2"), 1))
    story.emit(e.RunWaits("r1", HostTrouble("unreachable", "")))
    lost(story, 0, 1)
    assert (first_lane(story.run), story.run.lane_waits, story.run.waiting) == (2, {}, None)
    assert next_action(story.run, "lower", 2) == resumed(3)
    story.emit(e.LanesChanged("r1", (("box.2", "GPU-8"), ("box", "GPU-2")), (0,)))
    assert first_lane(story.run) == 1 and story.run.lanes[1] == ("box.2", "GPU-8")
    for number in (3, 4, 5):
        assert next_action(story.run, "lower", 2) == resumed(number)
        assert story.run.iterations[number].place == ("box", "GPU-2")
        story.end(story.run.iterations[number], False)
    assert story.begin(1) == Iterate(6, "again", of=0, confirming="floor"), "another device has another noise floor"
    assert story.begin(2) == Iterate(7, "claude")
    assert set(floors(story.run)) == {("box", f"GPU-{number}") for number in range(3)}


def test_where_all_allocations_end_each_iteration_stays_with_its_lane_until_one_comes() -> None:
    story = Story(2, Budget(9, 9))
    story.measure_noise()
    for lane in range(2):
        story.begin(lane)
    lost(story, 0, 1)
    assert [it.lane for it in story.run.open] == [0, 1] and devices_in_use(story.state, 0.0) == {}
    lost(story, 0)
    assert [it.lane for it in story.run.open] == [1, 1]


def resumed(number: int) -> Iterate:
    return Iterate(number, "claude", resumed=True)


@settings(max_examples=examples(60))
@given(st.data(), st.integers(2, 4), st.integers(1, 8))
def test_whatever_allocations_end_no_iteration_is_lost_or_done_twice(
    data: st.DataObject, lanes: int, iterations: int
) -> None:
    def choose(below: int) -> int:
        return data.draw(st.integers(0, below - 1))

    def check(story: Story) -> None:
        if choose(4) == 0:
            lost(story, *(lane for lane in range(lanes) if choose(2)))
        run = story.run
        assert [it.number for it in run.iterations] == list(range(len(run.iterations)))
        assert sum(it.again is None for it in run.iterations) <= iterations + 1
        assert not run.lanes or all(it.lane in run.lanes for it in run.open)

    story = Story(lanes, Budget(iterations, 9))
    for _ in range(30 * (iterations + 2)):
        lane = choose(lanes)
        mine = current_in(story.run, lane) if lane in story.run.lanes else None
        if mine is not None and choose(2):
            story.end(mine, bool(choose(2)))
        elif lane in story.run.lanes and isinstance(story.begin(lane), End):
            break
        check(story)
    else:
        lost(story)
        for _ in range(200):
            lane = choose(lanes)
            if (mine := current_in(story.run, lane)) is not None:
                story.end(mine, False)
            if isinstance(story.begin(lane), End):
                break
    assert not story.run.open and not story.run.again
