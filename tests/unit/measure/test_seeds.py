"""The secret numbers of a step: the same for all who take it, others for the next step, and none tells another."""

from kpd.measure.driver.check import seed
from kpd.measure.driver.pairs import FRESH
from kpd.measure.driver.timing import audit_line
from kpd.measure.seeds import Draws, numbers_of, same_numbers


def test_who_takes_the_same_step_meets_the_same_numbers() -> None:
    with same_numbers():
        first, line = seed("check"), audit_line(FRESH)
        assert (seed("check"), audit_line(FRESH)) == (first, line)
        assert seed("repeat") != first
    with same_numbers():
        assert seed("check") != first


def test_what_a_step_does_several_times_meets_other_numbers_each_time_and_the_same_where_the_step_is_repeated() -> None:
    def part(name: str) -> bytes:
        with numbers_of(name):
            return audit_line(FRESH)

    with same_numbers():
        whole, first, second = audit_line(FRESH), part("audit"), part("audit-2")
        assert len({whole, first, second}) == 3
        assert (part("audit"), part("audit-2"), audit_line(FRESH)) == (first, second, whole)
    with same_numbers():
        assert part("audit") != first
    assert part("audit") != part("audit"), "outside of a step all numbers are new"


def test_numbers_are_new_each_time_otherwise() -> None:
    assert len({seed("check") for _ in range(9)}) == 9


def test_numbers_are_in_their_limits_and_differ() -> None:
    draws = Draws("fresh")
    assert {draws.below(2) for _ in range(64)} == {0, 1}
    seeds = {draws.seed() for _ in range(64)}
    assert len(seeds) == 64 and {len(one) for one in seeds} == {32}
