"""A task without an oracle: the outputs of its own kernel are the truth, and what they differ by is tolerated."""

from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import count

import pytest

from kpd.hosts.errors import HostError
from kpd.measure.bench import CheckFailed, CheckPassed
from kpd.measure.c.bench import harness
from kpd.measure.driver.check import check
from kpd.measure.driver.harness import OBJECT
from kpd.measure.driver.timing import time_pair
from kpd.measure.jobs import out
from kpd.workspace.specs import CheckSpec
from tests.support.measure.measured import CPU, FEW, HARNESS, LOOP, RIGHT, Lab, kernel, lab

pytestmark = pytest.mark.asyncio(loop_scope="module")
BASELINE = CheckSpec(seeds=1, truth="baseline", limit_s=20.0)
SHAKY = kernel(f"static int calls; {LOOP} if (calls++ % 2) y[5] += 1e-3f;")
numbers = count()


@pytest.fixture(scope="module", name="lab")
async def _lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lab]:
    async with lab(tmp_path_factory.mktemp("referee")) as ready:
        without = HARNESS.replace(b"buffers, fill, oracle, call}", b"buffers, fill, 0, call}").replace(
            b"static void oracle", b"__attribute__((unused)) static void oracle"
        )
        made = await harness(ready.host, ready.tools, {"harness.c": without}, 60.0)
        yield Lab(ready.host, ready.tools, made, ready.where)


async def checked(lab: Lab, own: str, source: str) -> CheckPassed:
    own_job, built = (await lab.build(own)).job, (await lab.build(source)).job
    path = out(lab.host, own_job, OBJECT)
    return await check(lab.host, lab.harness, built, f"referee{next(numbers)}", BASELINE, lab.where, reference=path)


async def test_the_baselines_outputs_are_the_truth(lab: Lab) -> None:
    assert not lab.harness.oracle
    found = await checked(lab, RIGHT, RIGHT + "/* another one */")
    assert (found.worst, found.truth) == (0, "baseline")
    with pytest.raises(CheckFailed, match=r"t\[7\] is .*, should be"):
        await checked(lab, RIGHT, kernel(f"{LOOP} t[7] *= 1.001;"))


async def test_what_the_baseline_differs_by_from_call_to_call_is_tolerated(lab: Lab) -> None:
    assert 0 < (await checked(lab, SHAKY, kernel(f"{LOOP} y[5] += 5e-4f;"))).worst <= 1
    with pytest.raises(CheckFailed, match=r"y\[5\] is .*, should be"):
        await checked(lab, SHAKY, kernel(f"{LOOP} y[5] += 1e-2f;"))


async def test_timed_outputs_are_compared_with_them_too(lab: Lab) -> None:
    own = (await lab.build(RIGHT)).job
    where = replace(lab.where, lease=CPU)

    async def timed(source: str) -> int:
        built = (await lab.build(source)).job
        samples = time_pair(
            lab.host, lab.harness, own, built, f"timed{next(numbers)}", 0, 1, FEW, BASELINE, where,
            reference=out(lab.host, own, OBJECT),
        )  # fmt: skip
        return len([sample async for sample in samples])

    assert await timed(RIGHT + "/* another one */") == 1
    with pytest.raises(CheckFailed, match=r"y\[3\] is .* \(timed outputs\)"):
        await timed(kernel(f"static int calls; {LOOP} if (++calls > 20) y[3] += 1.0f;"))


async def test_a_baseline_that_crashes_is_told_with_its_signal(lab: Lab) -> None:
    with pytest.raises(HostError, match=r"own kernel does not return: it crashes \(signal 11\)"):
        await checked(lab, kernel("*(volatile int *)8 = 1;"), RIGHT)
