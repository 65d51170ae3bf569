"""With how many seeds a task's own kernel is tried."""

import pytest

from kpd.cli.task_trial import CHECK_S, ENOUGH, FEWEST_SEEDS, SEEDS, seeds_for


@pytest.mark.parametrize(
    ("spent_s", "compared", "seeds"),
    [
        (1.0, 0, SEEDS),  # nobody counts the elements
        (1.0, 100, SEEDS),
        (1.0, ENOUGH // 8, 8),
        (1.0, ENOUGH // 8 - 1, 9),
        (1.0, ENOUGH, FEWEST_SEEDS),
        (CHECK_S / SEEDS, 0, SEEDS),
        (CHECK_S / (SEEDS - 0.5), 0, SEEDS - 1),
        (CHECK_S, 0, FEWEST_SEEDS),
    ],
)
def test_a_slow_task_and_one_with_many_elements_are_tried_with_fewer_seeds(
    spent_s: float, compared: int, seeds: int
) -> None:
    assert seeds_for(spent_s, compared) == seeds
