"""sizes = "any": a kernel is checked at sizes that no case names, where the task's own is right."""

from itertools import count
from pathlib import Path

import pytest

from kpd.hosts.host import Host
from kpd.measure.bench import CheckFailed
from kpd.measure.compiling import BuildError
from kpd.measure.driver.bench import DriverBench
from tests.support.measure.measured import local_host
from tests.support.measure.python_tasks import HARNESS, RIGHT, TOML, built, ready, small_task

pytestmark = pytest.mark.asyncio(loop_scope="module")
numbers = count()

ANY = TOML.replace("seeds = 1", 'seeds = 2\nsizes = "any"')
NATIVE = ANY.replace("rtol = 1e-5\natol = 1e-6\n", "")
ONLY_NAMED = "def kernel(a, b):\n    return 2 * a + b if len(a) == 4099 else a\n"
EVEN_WRONG = "def kernel(a, b):\n    return 2 * a + b if len(a) % 2 else a\n"


@pytest.fixture(scope="module", name="host")
async def _host(tmp_path_factory):
    async with local_host(tmp_path_factory.mktemp("sizes")) as host:
        yield host


async def task(host: Host, tmp_path: Path, toml: str, kernel: str = RIGHT, harness: str = HARNESS) -> DriverBench:
    return await ready(host, small_task(tmp_path, kernel, harness, toml))


@pytest.mark.parametrize("toml", [pytest.param(ANY, id="tolerance"), pytest.param(NATIVE, id="native")])
async def test_a_kernel_that_is_right_at_named_sizes_only_is_wrong(host: Host, tmp_path: Path, toml: str) -> None:
    bench = await task(host, tmp_path, toml)
    passed = await bench.check(await built(bench), f"sizes{next(numbers)}", print)
    assert (passed.drawn, passed.unchecked) == (6, 0)
    with pytest.raises(CheckFailed, match=r"n=\d+"):
        await bench.check(await built(bench, {"kernel.py": ONLY_NAMED}), f"sizes{next(numbers)}", print)


async def test_a_size_at_which_the_tasks_own_kernel_is_wrong_is_not_checked(host: Host, tmp_path: Path) -> None:
    bench = await task(host, tmp_path, ANY, EVEN_WRONG, HARNESS + 'LIMITS = {"n": {"least": 4, "multiple": 2}}\n')
    passed = await bench.check(await built(bench), f"sizes{next(numbers)}", print)
    assert 0 < passed.drawn == passed.unchecked


async def test_a_harness_that_cannot_make_other_sizes_is_told_what_to_write(host: Host, tmp_path: Path) -> None:
    picky = HARNESS.replace("    return {", '    assert dims["n"] == 4099\n    return {', 1)
    bench = await task(host, tmp_path, ANY, harness=picky)
    with pytest.raises(Exception, match="say in LIMITS which can be") as caught:
        await bench.check(await built(bench), f"sizes{next(numbers)}", print)
    assert not isinstance(caught.value, CheckFailed), "it is no candidate's fault"


async def test_limits_that_are_none_are_refused(host: Host, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"LIMITS\['n'\]"):
        await task(host, tmp_path, ANY, harness=HARNESS + 'LIMITS = {"n": {"atleast": 4}}\n')
