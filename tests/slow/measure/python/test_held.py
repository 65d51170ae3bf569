"""Results that a caller still has: which kernels overwrite them, and which only seem to."""

from itertools import count

import pytest

from kpd.hosts.host import Host
from kpd.measure.bench import CheckFailed
from kpd.measure.driver.bench import DriverBench
from tests.support.measure.measured import local_host
from tests.support.measure.python_tasks import HARNESS, TOML, built, ready, small_task

pytestmark = pytest.mark.asyncio(loop_scope="module")
numbers = count()
HEAD = "import itertools, sys\nimport numpy as np\n"
RING = """
ring, calls = itertools.cycle([np.empty(4099, "float32") for _ in range(80)]), itertools.count()
def kernel(a, b):
    out = next(ring) if next(calls) >= FROM else np.empty_like(a)
    return np.add(2 * a, b, out=out)
"""
HONEST = {
    "what nobody has any more is used again": """
pool = []
def kernel(a, b):
    for at in range(len(pool)):
        if sys.getrefcount(pool[at]) == 2: break
    else:
        at = len(pool)
        pool.append(np.empty_like(a))
    return np.add(2 * a, b, out=pool[at])
""",
    "columns of an array that has others between": """
left = []
def kernel(a, b):
    if not left: left.extend(np.empty((4099, 100), "float32").T)
    return np.add(2 * a, b, out=left.pop())
""",
    "numbers in a list": "def kernel(a, b):\n    return (2 * a + b).tolist()\n",
}
BOTH = HARNESS.replace('("out",)', '("out", "part")').replace(
    "2 * a.astype(np.float64) + b", "(2 * a.astype(np.float64) + b, a[1000:3000])"
)
VIEW = HARNESS.replace("2 * a.astype(np.float64) + b", "a[1000:3000]")


@pytest.fixture(scope="module", name="host")
async def _host(tmp_path_factory):
    async with local_host(tmp_path_factory.mktemp("held") / "host") as host:
        yield host


async def repeated(bench: DriverBench, job: str) -> None:
    assert (await bench.repeat(job, f"repeat{next(numbers)}", print)) is not None


async def timed(bench: DriverBench, job: str) -> None:
    (sample,) = [one async for one in bench.time(await built(bench), job, f"time{next(numbers)}", 0, 1, print)]
    assert sample.cases


@pytest.mark.parametrize("call", [repeated, timed])
async def test_a_kernel_does_not_overwrite_a_result_that_its_caller_has(host: Host, tmp_path, call) -> None:
    bench = await ready(host, small_task(tmp_path))
    job = await built(bench, {"kernel.py": HEAD + RING.replace("FROM", "0")})
    await bench.check(job, f"check{next(numbers)}", print)
    with pytest.raises(CheckFailed, match="it overwrites a result that it has returned") as caught:
        await call(bench, job)
    assert not caught.value.wrong.by_incumbent


async def test_one_that_does_so_some_thousand_calls_later_is_found_in_repeats(host: Host, tmp_path) -> None:
    """A quick kernel that sees its inputs change, and overwrites its first results 1,500 calls later."""
    late = """
first, seen, more = [], {}, itertools.count()
def kernel(a, b):
    out = np.add(2 * a, b)
    if len(first) < 16: first.append(out)
    if seen.setdefault(a.ctypes.data, a[0]) != a[0] and next(more) == 1500:
        for one in first: one[...] = out
    return out
"""
    bench = await ready(host, small_task(tmp_path))
    job = await built(bench, {"kernel.py": HEAD + late})
    with pytest.raises(CheckFailed, match="it overwrites a result that it has returned"):
        await repeated(bench, job)


async def test_one_that_does_so_only_after_more_calls_than_are_repeated_is_found_while_timed(
    host: Host, tmp_path
) -> None:
    bench = await ready(host, small_task(tmp_path, toml=TOML.replace("quads = 8", "quads = 64")))
    job = await built(bench, {"kernel.py": HEAD + RING.replace("FROM", "5000")})
    with pytest.raises(CheckFailed, match="it overwrites a result that it has returned"):
        await timed(bench, job)


@pytest.mark.parametrize("kernel", HONEST)
async def test_an_honest_kernel_passes(host: Host, tmp_path, kernel: str) -> None:
    bench = await ready(host, small_task(tmp_path, HEAD + HONEST[kernel], toml=TOML.replace("atol = 1e-6", "atol=1")))
    job = await built(bench)
    await repeated(bench, job)
    await timed(bench, job)


async def test_what_is_returned_beside_a_view_of_an_input_is_held(host: Host, tmp_path) -> None:
    bench = await ready(host, small_task(tmp_path, "def kernel(a, b):\n    return 2 * a + b, a[1000:3000]\n", BOTH))
    ring = RING.replace("FROM", "0").replace("np.add(2 * a, b, out=out)", "np.add(2 * a, b, out=out), a[1000:3000]")
    await repeated(bench, await built(bench))
    with pytest.raises(CheckFailed, match="it overwrites a result that it has returned"):
        await repeated(bench, await built(bench, {"kernel.py": HEAD + ring}))


async def test_a_view_of_an_input_is_as_that_input_is(host: Host, tmp_path) -> None:
    bench = await ready(host, small_task(tmp_path, "def kernel(a, b):\n    return a[1000:3000]\n", VIEW))
    job = await built(bench)
    await repeated(bench, job)
    await timed(bench, job)
