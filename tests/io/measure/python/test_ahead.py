"""Children that compute for the runner, and the processes of a contest that are forked from one."""

import os
import signal

import pytest

from kpd.measure.bench import CheckFailed
from kpd.measure.python.host.ahead import AHEAD, computed
from kpd.measure.python.host.calling import KernelProblem
from kpd.measure.python.host.harness import HarnessError
from tests.support.measure.measured import local_host
from tests.support.measure.python_tasks import built, ready, small_task


@pytest.mark.parametrize("forks", [False, True])
def test_results_come_in_order_and_errors_where_they_belong(forks: bool) -> None:
    def one(number: int) -> tuple[int, bool]:
        if number == 2 * AHEAD:
            raise KernelProblem("wrong", "b", output="y", index=number)
        return number, os.getpid() == here

    here = os.getpid()
    found = computed([lambda number=number: one(number) for number in range(2 * AHEAD + 1)], forks)
    assert [next(found) for _ in range(2 * AHEAD)] == [(number, not forks) for number in range(2 * AHEAD)]
    with pytest.raises(KernelProblem) as caught:
        next(found)
    assert (caught.value.report["who"], caught.value.report["index"]) == ("candidate", 2 * AHEAD)


def test_a_child_that_is_killed_is_told_of() -> None:
    with pytest.raises(HarnessError, match="ended with -9"):
        next(computed([lambda: os.kill(os.getpid(), signal.SIGKILL)], True))


@pytest.mark.asyncio
async def test_processes_that_are_forked_from_one_time_as_others_do(tmp_path) -> None:
    async with local_host(tmp_path / "host") as host:
        bench = await ready(host, small_task(tmp_path))
        object.__setattr__(bench.harness, "forks", True)
        own, slow = (
            await built(bench),
            await built(bench, {"kernel.py": "def kernel(a, b):\n    return a + b + a + a - a"}),
        )
        samples = [one async for one in bench.time(own, slow, "several", 0, 3, print)]
        assert [one.process for one in samples] == [0, 1, 2]
        assert all(one.spent["run"] > 0 for one in samples)
        assert len({one.cases["small"].a_ns for one in samples}) == 3
        wrong = await built(bench, {"kernel.py": "def kernel(a, b):\n    return a + b"})
        with pytest.raises(CheckFailed, match=r"out.* should be"):
            _ = [one async for one in bench.time(own, wrong, "wrong", 0, 3, print)]
