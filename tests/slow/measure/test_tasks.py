"""The CPU tasks that ship: right as they stand, tunable in earnest, and judged by a harness that sees what is wrong."""

import pytest

from kpd.measure.driver.bench import DriverBench
from tests.support.measure.tasks import GOOD_POINTS, _bench, built, numbers, point

__all__ = ["_bench"]

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_the_kernel_that_ships_is_right_and_builds_without_a_warning(bench: DriverBench) -> None:
    files = point(bench)
    made = await bench.build(await bench.stage(files), files, print)
    assert (made.warnings, made.flags) == (0, "-O2")
    assert (await bench.check(made.job, f"check{next(numbers)}", print)).worst <= 1


async def test_a_good_point_is_right_and_much_quicker_than_the_kernel_that_ships(bench: DriverBench) -> None:
    plain, good = await built(bench, point(bench)), await built(bench, point(bench, **GOOD_POINTS[bench.task.name]))
    await bench.check(good, f"check{next(numbers)}", print)
    (sample,) = [sample async for sample in bench.time(plain, good, f"time{next(numbers)}", 0, 1, print)]
    totals = [sum(sum(getattr(case, side)) for case in sample.cases.values()) for side in ("a_ns", "b_ns")]
    assert totals[0] > 1.2 * totals[1]
