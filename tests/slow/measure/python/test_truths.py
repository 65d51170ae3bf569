"""truth = "baseline": the task's own kernel says what outputs should be, in a process that no candidate reaches."""

from itertools import count
from pathlib import Path

import pytest

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.measure.bench import CheckFailed, CheckPassed
from kpd.measure.driver.bench import DriverBench
from kpd.workspace.task import TaskError
from tests.support.measure.measured import local_host
from tests.support.measure.python_tasks import HARNESS, RIGHT, TOML, built, ready, small_task

pytestmark = pytest.mark.asyncio(loop_scope="module")
numbers = count()
OWN = HARNESS[: HARNESS.index("def truth")]
EXACT = TOML.replace("rtol = 1e-5\natol = 1e-6\n", 'truth = "baseline"\n')
WITHIN = TOML.replace("rtol = 1e-5", 'truth = "baseline"\nrtol = 1e-5')
NEARLY = "def kernel(a, b):\n    return ((2 * a + b).astype('float64') * (1 + {})).astype('float32')\n"
NOISY = "import numpy as np\nturn = [0]\n"
NOISY += "def kernel(a, b):\n    turn[0] += 1\n    return 2 * a + b + np.float32(turn[0] % 2)\n"


@pytest.fixture(scope="module", name="host")
async def _host(tmp_path_factory):
    async with local_host(tmp_path_factory.mktemp("truths")) as host:
        yield host


async def task(host: Host, folder: Path, toml: str = EXACT, own: str = RIGHT, harness: str = OWN) -> DriverBench:
    return await ready(host, small_task(folder, own, harness, toml))


async def checked(bench: DriverBench, kernel: str) -> CheckPassed:
    return await bench.check(await built(bench, {"kernel.py": kernel}), f"truth{next(numbers)}", print)


async def test_a_harness_without_a_truth_compares_with_the_tasks_own_kernel(host: Host, tmp_path: Path) -> None:
    bench = await task(host, tmp_path)
    assert (await checked(bench, "import numpy as np\n" + RIGHT)).worst == 0
    with pytest.raises(CheckFailed, match=r"out.* should be"):
        await checked(bench, "def kernel(a, b):\n    return 2 * a\n")


@pytest.mark.parametrize(("off", "right"), [(9.9e-6, True), (1.01e-5, False)])
async def test_the_tolerance_that_is_given_holds(host: Host, tmp_path: Path, off: float, right: bool) -> None:
    bench = await task(host, tmp_path, WITHIN.replace("atol = 1e-6", "atol = 0.0"))
    kernel = NEARLY.format(off)
    if right:
        assert 0.9 < (await checked(bench, kernel)).worst <= 1
    else:
        with pytest.raises(CheckFailed, match="times the tolerance"):
            await checked(bench, kernel)


@pytest.mark.parametrize(("off", "right"), [("1", True), ("1.5", False)])
async def test_what_the_own_kernel_differs_by_from_call_to_call_is_tolerated(
    host: Host, tmp_path: Path, off: str, right: bool
) -> None:
    """Its calls differ by 1 at small numbers."""
    bench = await task(host, tmp_path, EXACT.replace('"normal", "large"', '"constant"'), NOISY)
    kernel = f"import numpy as np\ndef kernel(a, b):\n    return 2 * a + b + np.float32({off})\n"
    if right:
        assert (await checked(bench, kernel)).worst <= 1
    else:
        with pytest.raises(CheckFailed, match=r"1.5\d* times the tolerance|2.5\d* times the tolerance"):
            await checked(bench, kernel)


async def test_outputs_in_place_and_a_scale(host: Host, tmp_path: Path) -> None:
    harness = OWN.replace('("out",)', '("a",)') + "def scale(a, b):\n    return abs(a) + 10 * abs(b) + 1\n"
    own, off = "def kernel(a, b):\n    a += b\n", "def kernel(a, b):\n    a += b\n    a += {} * abs(b)\n"
    toml = WITHIN.replace("atol = 1e-6", 'atol = 0.0\ncompare = "scaled"').replace("1e-5", "1e-2")
    bench = await task(host, tmp_path, toml, own, harness)
    assert (await checked(bench, off.format(0.09))).worst <= 1
    with pytest.raises(CheckFailed, match=r"a.* should be"):
        await checked(bench, off.format(0.5))


async def test_an_own_kernel_that_fails_is_the_tasks_fault(host: Host, tmp_path: Path) -> None:
    bench = await task(host, tmp_path, own="def kernel(a, b):\n    raise ValueError('no truth here')\n")
    with pytest.raises(HostError, match=r"the task.s own kernel, whose results are the truth.*no truth here"):
        await checked(bench, RIGHT)


async def test_a_harness_without_a_truth_needs_the_key(host: Host, tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="the harness has no oracle") as caught:
        await task(host, tmp_path, TOML)
    assert 'truth = "baseline"' in str(caught.value)


HEAD = "import ctypes, glob, os, signal\n"
REACHES = {
    "kills all others": "for pid in map(int, filter(str.isdigit, os.listdir('/proc'))):\n"
    "    if pid not in (1, os.getpid(), os.getppid()):\n"
    "        try: os.kill(pid, 9)\n        except OSError: pass\n",
    "writes the memory of all others": "for path in glob.glob('/proc/[0-9]*/mem'):\n"
    "    if path != f'/proc/{os.getpid()}/mem':\n"
    "        try: open(path, 'r+b', 0)\n        except OSError: continue\n        raise SystemError\n",
    "looks for the memory that others share": "for path in glob.glob('/proc/[0-9]*/fd/*'):\n"
    "    if f'/{os.getpid()}/' not in path:\n"
    "        try: open(path, 'rb')\n        except OSError: continue\n        raise SystemError\n",
    "writes files of the job": "for path in glob.glob('**/*', recursive=True) + glob.glob('../**/*', recursive=True):\n"
    "    if os.path.isfile(path):\n"
    "        try: open(path, 'r+b')\n        except OSError: continue\n        raise SystemError\n",
}


@pytest.mark.parametrize("what", REACHES)
async def test_a_candidate_does_not_reach_the_process_of_the_truth(host: Host, tmp_path: Path, what: str) -> None:
    bench = await task(host, tmp_path)
    assert (await checked(bench, HEAD + REACHES[what] + RIGHT)).worst == 0
    with pytest.raises(CheckFailed, match=r"out.* should be"):
        await checked(bench, HEAD + REACHES[what] + RIGHT.replace("+ b", "+ 2 * b"))


async def test_a_contest_the_audits_and_repeats_compare_with_it_too(host: Host, tmp_path: Path) -> None:
    bench = await task(host, tmp_path)
    own, again = await built(bench), await built(bench, {"kernel.py": "import numpy as np\n" + RIGHT})
    keeps = "kept = {}\ndef kernel(a, b):\n    return kept.setdefault(float(a[0]), 2 * a + b).copy()\n"
    stale = await built(bench, {"kernel.py": keeps})
    names = (f"contest{next(numbers)}" for _ in count())
    samples = [one async for one in bench.time(own, again, next(names), 0, 3, print)]
    assert len(samples) == 3
    audit = await bench.audit(own, again, next(names), print)
    assert audit.fresh
    assert await bench.repeat(again, next(names), print)
    with pytest.raises(CheckFailed, match=r"out.* should be"):
        _ = [one async for one in bench.time(own, stale, next(names), 0, 3, print)]
