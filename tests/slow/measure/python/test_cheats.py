"""Callables that try to win without computing faster: what each comes to."""

from itertools import count

import pytest

from kpd.measure.bench import CheckFailed
from kpd.measure.driver.bench import DriverBench
from kpd.measure.judge import log_ratio
from tests.support.measure.measured import local_host
from tests.support.measure.python_tasks import built, ready, small_task

pytestmark = pytest.mark.asyncio(loop_scope="module")
numbers = count()
HEAD = (
    "import ctypes, gc, os, signal, socket, sys, threading, time\nimport numpy as np\nRIGHT = lambda a, b: 2 * a + b\n"
)
ARRAYS = "import kpd.measure.python.host.arrays as arrays\n"


@pytest.fixture(scope="module", name="bench")
async def _bench(tmp_path_factory):
    root = tmp_path_factory.mktemp("python")
    async with local_host(root / "host") as host:
        yield await ready(host, small_task(root))


REFUSED = {
    "returns an input": ("def kernel(a, b):\n    return a", "out.* should be"),
    "returns nothing": ("def kernel(a, b):\n    2 * a + b", "is of type NoneType"),
    "returns the first result again": (
        "kept = []\ndef kernel(a, b):\n    if not kept: kept.append(RIGHT(a, b))\n    return kept[0]",
        "out.* should be",
    ),
    "fills one buffer in all calls": (
        "out = np.empty(4099, 'float32')\ndef kernel(a, b):\n    out[:] = RIGHT(a, b)\n    return out",
        "out.* should be",
    ),
    "returns an array of its own type": (
        "class Lazy(np.ndarray): pass\ndef kernel(a, b):\n    return RIGHT(a, b).view(Lazy)",
        "is of type Lazy",
    ),
    "changes an input": (
        "def kernel(a, b):\n    out = RIGHT(a, b)\n    a[0] += 1\n    return out",
        "changes its input a",
    ),
    "changes an input while it runs, and puts back what was there": (
        "def kernel(a, b):\n    np.negative(a, out=a)\n    out = RIGHT(-a, b)\n"
        "    np.negative(a, out=a)\n    return out",
        "changes its inputs while it runs",
    ),
    "writes beside its arguments": (
        "def kernel(a, b):\n    ctypes.memset(b.ctypes.data + b.nbytes + 8, 1, 4)\n    return RIGHT(a, b)",
        "writes outside its arguments",
    ),
    "returns too few": ("def kernel(a, b):\n    return RIGHT(a, b)[:-1]", "4098 elements .* should have 4099"),
    "replaces a function of NumPy": (
        "vars(np).update(exp=np.square)\nkernel = RIGHT",
        "it replaces or changes numpy.exp",
    ),
    "silences NumPy's errors": ("np.seterr(all='ignore')\nkernel = RIGHT", "it replaces or changes numpy.seterr"),
    "seeds the generator that all of its program shares": (
        "np.random.seed(1)\nkernel = RIGHT",
        "it replaces or changes numpy.random",
    ),
    "draws from the generator that all of its program shares": (
        "import random\ndef kernel(a, b):\n    random.random()\n    return RIGHT(a, b)",
        "it replaces or changes random",
    ),
    "hears of all that its program does": (
        "import sys\nsys.addaudithook(lambda *event: None)\nkernel = RIGHT",
        "it replaces or changes sys.addaudithook",
    ),
    "lets no other thread run": ("import sys\nsys.setswitchinterval(1.0)\nkernel = RIGHT", "sys.setswitchinterval"),
    "leaves a thread": (
        "def kernel(a, b):\n    threading.Thread(target=time.sleep, args=(9,)).start()\n    return RIGHT(a, b)",
        r"leaves \d threads? running",
    ),
    "imports the judge": ("import harness\nkernel = harness.truth", "No module named 'harness'"),
    "starts a process": ("os.fork()\nkernel = RIGHT", "Operation not permitted"),
    "opens a connection": ("socket.socket()\nkernel = RIGHT", "Operation not permitted"),
    "reads its parent": ("open(f'/proc/{os.getppid()}/mem', 'rb')\nkernel = RIGHT", "Permission denied"),
    "ends its parent": ("os.kill(os.getppid(), 9)\nkernel = RIGHT", "Operation not permitted"),
    "writes a file": ("open('left', 'w')\nkernel = RIGHT", "Permission denied"),
    "ends its process": ("def kernel(a, b):\n    os._exit(0)", "exit|ended"),
    "crashes": ("def kernel(a, b):\n    ctypes.string_at(0)", "SIGSEGV|crashed"),
    "sets a timer": ("signal.setitimer(signal.ITIMER_REAL, 1)\nkernel = RIGHT", "Operation not permitted"),
    "changes its own file": ("os.chmod(__file__, 0o600)\nkernel = RIGHT", "Operation not permitted"),
    "has a signal wake it up": (
        "import fcntl\nfcntl.fcntl(0, fcntl.F_SETSIG, signal.SIGCONT)\nkernel = RIGHT",
        "Operation not permitted",
    ),
    "takes memory that is in no limit": ("os.memfd_create('hoard')\nkernel = RIGHT", "Operation not permitted"),
    "takes shared memory": ("import mmap\nmmap.mmap(-1, 1 << 20)\nkernel = RIGHT", "Operation not permitted"),
    "opens too many files": ("opened = [os.pipe() for _ in range(600)]\nkernel = RIGHT", "Too many open files"),
    "has hundreds of threads": (
        "for _ in range(65 + 4 * os.cpu_count()): threading.Thread(target=time.sleep, args=(9,), daemon=True).start()\n"
        "kernel = RIGHT",
        r"it starts \d+ threads, more than \d+",
    ),
    "undoes its stop": ("os.kill(os.getpid(), signal.SIGCONT)\nkernel = RIGHT", "Operation not permitted"),
    "has gibibytes between its elements": (
        "store = np.empty((4099, 1 << 16), 'float32')\n"
        "def kernel(a, b):\n    store[:, 7] = RIGHT(a, b)\n    return store[:, 7]",
        "4099 elements lie 1024 MiB apart",
    ),
    "says that its elements are where none can be": (
        f"{ARRAYS}layout_of = arrays.layout_of\n"
        "arrays.layout_of = lambda value: layout_of(value)._replace(shape=(value.size, 1), strides=(1, 1 << 70))\n"
        "def kernel(a, b):\n    return RIGHT(a, b) + 1",
        "out.* should be",
    ),
    "takes memory": ("hoard = np.empty(9 << 30, 'uint8')\nkernel = RIGHT", "Unable to allocate"),
    "returns what runs backwards": ("def kernel(a, b):\n    return RIGHT(a, b)[::-1]", "runs backwards"),
    "returns far too many": (
        "def kernel(a, b):\n    return np.broadcast_to(RIGHT(a, b)[0], (1 << 30, 1 << 30))",
        "elements .* should have 4099",
    ),
    "returns NaN": ("def kernel(a, b):\n    return RIGHT(a, b) * np.nan", "should be"),
    "computes when its result is looked at": (
        f"{ARRAYS}pending, layout_of = [], arrays.layout_of\n"
        "def late(value):\n    for out, a, b in pending: out[:] = RIGHT(a, b)\n    return layout_of(value)\n"
        "arrays.layout_of = late\n"
        "def kernel(a, b):\n    pending.append((np.zeros_like(a), a, b))\n    return pending[-1][0]",
        "out.* should be",
    ),
    "ends its process while inputs are laid out": (
        f"{ARRAYS}arrays.rebuilt = lambda *_: os._exit(0)\nkernel = RIGHT",
        "exit|ended",
    ),
    "raises": ("def kernel(a, b):\n    return a @ np.zeros((2, 2))", r"ValueError: .*kernel.py, line 5"),
    "answers in its worker's place": (
        "def kernel(a, b):\n    for fd in range(3, 64):\n        try: os.write(fd, b'\\0\\0\\0\\x0a{\"at\": []}')\n"
        "        except OSError: pass\n    return RIGHT(a, b)",
        "socket|cannot be read",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
async def test_a_check_refuses(bench: DriverBench, what: str) -> None:
    source, said = REFUSED[what]
    job = await built(bench, {"kernel.py": f"{HEAD}{source}\n"})
    with pytest.raises(CheckFailed, match=said):
        await bench.check(job, f"check{next(numbers)}", print)


async def test_inputs_that_a_check_compares_are_not_there_before_the_clock_runs(bench: DriverBench) -> None:
    looks = f"""{ARRAYS}
seen, view = [], arrays.view
def look(layout, memory):
    seen.append(view(layout, memory).copy())
    return view(layout, memory)
arrays.view = look
def kernel(a, b):
    arrays.view = view
    return a if any(np.array_equal(a, one) for one in seen) else RIGHT(a, b)
"""
    job = await built(bench, {"kernel.py": f"{HEAD}{looks}"})
    assert (await bench.check(job, f"check{next(numbers)}", print)).worst <= 1


@pytest.mark.parametrize("kind", ["astype('float64')", "reshape(-1, 1)"])
async def test_the_type_and_shape_of_outputs_are_those_of_the_other_kernel(bench: DriverBench, kind: str) -> None:
    with pytest.raises(CheckFailed, match=r"out is float.*, but should be float32 \[4099\]"):
        await gains(bench, f"def kernel(a, b):\n    return RIGHT(a, b).{kind}\n")


async def gains(bench: DriverBench, source: str) -> list[float]:
    """The gains in percent that a candidate shows in three processes."""
    incumbent, candidate = await built(bench), await built(bench, {"kernel.py": f"{HEAD}{source}\n"})
    samples = [one async for one in bench.time(incumbent, candidate, f"time{next(numbers)}", 0, 3, print)]
    return sorted(100 * log_ratio(one.cases["small"]) for one in samples)


async def test_a_result_that_is_kept_for_contents_seen_before_is_wrong_while_timed(bench: DriverBench) -> None:
    keeps = """
kept = {}
def kernel(a, b):
    key = (a[7], a[-1], b[5])
    if key not in kept: kept[key] = RIGHT(a, b)
    return kept[key].copy()
"""
    with pytest.raises(CheckFailed, match=r"out.* should be"):
        await gains(bench, keeps)


async def test_no_kernel_has_the_other_one_in_its_process(bench: DriverBench) -> None:
    looks = """
def kernel(a, b):
    assert [name for name in sys.modules if name.startswith("kernel_")] == [__name__] == ["kernel_0"]
    return RIGHT(a, b)
"""
    assert len(await gains(bench, looks)) == 3


async def test_who_reads_what_a_kernel_writes_has_that_kernels_time(bench: DriverBench) -> None:
    # A batch has some 600 calls: that is more than the 64 KiB which a pipe usually holds, and less than 1 MiB.
    writes = "def kernel(a, b):\n    for _ in range(5): os.write(2, b'\\n' * 100)\n    return RIGHT(a, b)"
    assert (await gains(bench, writes))[-1] < -20
