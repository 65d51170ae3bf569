"""What a check computes once, and whose memory is kept."""

from itertools import count
from pathlib import Path

import pytest

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.measure.python.host.bounds import ENOUGH
from tests.support.measure.measured import local_host
from tests.support.measure.python_tasks import HARNESS, RIGHT, TOML, built, ready, small_task

pytestmark = pytest.mark.asyncio(loop_scope="module")
numbers = count()
IN_BLOCKS = """
import ctypes
class Told(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks".split()] + [
        ("rest", ctypes.c_size_t * 3)
    ]
def mapped():
    libc = ctypes.CDLL(None)
    libc.mallinfo2.restype = Told
    large = bytearray(64 << 20)
    return libc.mallinfo2().hblkhd >= len(large)
"""


@pytest.fixture(scope="module", name="host")
async def _host(tmp_path_factory):
    async with local_host(tmp_path_factory.mktemp("memory")) as host:
        yield host


@pytest.mark.parametrize(("most", "right"), [(4, True), (3, False)])
async def test_each_call_has_its_truth_computed_once(host: Host, tmp_path: Path, most: int, right: bool) -> None:
    counting = HARNESS.replace("def truth(a, b):", f"calls = iter(range({most}))\ndef truth(a, b):\n    next(calls)")
    bench = await ready(host, small_task(tmp_path, harness=counting))
    if right:  # one seed, two kinds of inputs, two calls of each
        passed = await bench.check(await built(bench), f"memory{next(numbers)}", print)
        assert (passed.comparisons, passed.fewest) == (4 * 4099, 2 * 4099)
    else:
        with pytest.raises(HostError, match="StopIteration"):
            await bench.check(await built(bench), f"memory{next(numbers)}", print)


async def test_the_runner_uses_freed_memory_again_and_kernels_have_that_of_the_system(
    host: Host, tmp_path: Path
) -> None:
    harness = IN_BLOCKS + HARNESS.replace("def truth(a, b):", "def truth(a, b):\n    assert not mapped()")
    kernel = IN_BLOCKS + RIGHT.replace("(a, b):\n", "(a, b):\n    assert mapped()\n")
    bench = await ready(host, small_task(tmp_path, kernel, harness, TOML))
    assert (await bench.check(await built(bench), f"memory{next(numbers)}", print)).worst <= 1.0


@pytest.mark.parametrize(("elements", "calls"), [(ENOUGH, 4), (ENOUGH - 1, 8)])
async def test_errors_of_the_tasks_own_kernel_are_those_of_fewer_calls_where_outputs_are_large(
    host: Host, tmp_path: Path, elements: int, calls: int
) -> None:
    toml = TOML.replace("rtol = 1e-5\natol = 1e-6\n", "").replace('["normal", "large"]', '["normal"]')
    for most, right in ((calls, True), (calls - 1, False)):
        counting = f"calls = iter(range({most}))\ndef truth(a, b):\n    next(calls)"
        harness = HARNESS.replace("def truth(a, b):", counting).replace("4099", str(elements))
        bench = await ready(host, small_task(tmp_path / str(most), harness=harness, toml=toml))
        if right:
            await bench.check(await built(bench), f"memory{next(numbers)}", print)
        else:
            with pytest.raises(HostError, match="StopIteration"):
                await bench.check(await built(bench), f"memory{next(numbers)}", print)
