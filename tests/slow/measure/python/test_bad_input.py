"""Candidates that are no kernels: what each comes to, and that the next one is judged as if they had never been."""

import contextlib
from pathlib import Path

import pytest

from kpd.measure.bench import CheckFailed
from kpd.measure.compiling import BuildError
from kpd.measure.driver.bench import DriverBench
from tests.support.measure.measured import local_host
from tests.support.measure.python_tasks import TOML, built, ready, small_task

pytestmark = pytest.mark.asyncio(loop_scope="module")

CALL = "def kernel(a, b):\n    "
BAD = {
    "exits at import": ("import sys\nsys.exit(0)\n", "ended the process"),
    "raises at import": ("raise ValueError('no')\n", r"cannot be loaded: ValueError: no \(kernel.py, line 1\)"),
    "imports what is not there": ("import torch_of_tomorrow\n", "No module named 'torch_of_tomorrow'"),
    "leaves": (f"import os\n{CALL}os._exit(0)\n", "ended the process instead of returning"),
    "leaves politely": (f"import sys\n{CALL}sys.exit(3)\n", "ended the process instead of returning"),
    "crashes": (f"import ctypes\n{CALL}ctypes.string_at(0)\n", "crashed with SIGSEGV"),
    "hangs": (f"{CALL}while True: pass\n", r"did not return in time \(no answer within 2.5 s\)"),
    "hangs at import": ("while True: pass\n", "the check did not finish within 10 s"),
    "stops itself": (f"import os\n{CALL}os.kill(os.getpid(), 19)\n", "did not return in time"),
    "never ends to call itself": (f"{CALL}return kernel(a, b)\n", "RecursionError"),
    "overflows its stack": (
        "import sys\nsys.setrecursionlimit(10**9)\nclass A:\n    def __repr__(self): return repr(self)\n"
        f"{CALL}repr(A())\n",
        "crashed with SIGSEGV|RecursionError",  # by the version of Python
    ),
    "takes all memory": (f"import numpy\n{CALL}return numpy.ones(1 << 34)\n", "MemoryError: Unable to allocate"),
    "says megabytes": (
        f"import sys\n{CALL}sys.stderr.write('y' * 5_000_000)\n    raise ValueError('z' * 5_000_000)\n",
        r"it writes more than \d+ KiB to stderr in a batch of calls|ValueError: z",  # what was read by then
    ),
    "says what is no text": (f"{CALL}raise ValueError('\\ud800\\x1b[31m')\n", "ValueError: "),
    "has an error without words": (
        f"class E(Exception):\n    def __str__(self): raise TypeError\n{CALL}raise E\n", "ended the process",
    ),
    "leaves a thread": (
        f"import threading, time\n{CALL}threading.Thread(target=time.sleep, args=(99,), daemon=True).start()\n"
        "    return 2 * a + b\n",
        "leaves 1 thread running",
    ),
    "returns nothing": (f"{CALL}pass\n", "out is of type NoneType, which is no array"),
    "returns a type of a long name": (f"{CALL}return type('x' * 3_000_000, (), {{}})()\n", "out is of type xxx"),
    "returns itself": (f"{CALL}found = []\n    found.append(found)\n    return found\n", "out is of type list"),
    "returns other elements": (f"{CALL}return (2 * a + b).astype(object)\n", "type object cannot be compared"),
    "returns a coroutine": ("async def kernel(a, b): return 2 * a + b\n", "out is of type coroutine"),
    "is no function": ("kernel = 3\n", "has no function kernel"),
}  # fmt: skip
UNREADABLE = {
    "syntax": (b"def kernel(a, b:\n", r"kernel.py:1: '\(' was never closed"),
    "not UTF-8": (b"x = 'caf\xe9'\n", "kernel.py:1: .*'utf-8' codec can't decode"),
    "UTF-16": (CALL.encode("utf-16"), "null bytes"),
    "an encoding that nobody has": (b"# -*- coding: nothing -*-\n", "unknown encoding: nothing"),
    "too deep": (b"x = " + b"(" * 100_000 + b"1" + b")" * 100_000, "too many nested parentheses"),
}


def processes(folder: Path) -> list[bytes]:
    """The command lines of all processes that name the folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended
            found.append(process.read_bytes())
    return sorted(line for line in found if bytes(folder) in line)


@pytest.fixture(scope="module", name="bench")
async def _bench(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad")
    toml = TOML.replace("seeds = 1", "seeds = 1\nlimit_s = 10").replace('"normal", "large"', '"normal"')
    async with local_host(folder / "host") as host:
        bench = await ready(host, small_task(folder, toml=toml))
        assert (await bench.check(await built(bench), "check-first", print)).worst <= 1
        before = processes(folder)
        yield bench
        assert processes(folder) == before


@pytest.mark.parametrize("what", BAD)
async def test_a_bad_candidate_has_its_own_fault_told(bench: DriverBench, what: str) -> None:
    """Not the host's: that would pause the run."""
    text, said = BAD[what]
    job = await built(bench, {"kernel.py": text})
    with pytest.raises(CheckFailed, match=said) as caught:
        await bench.check(job, f"check-{'-'.join(what.split())}", print)
    assert len(str(caught.value)) < 3000
    str(caught.value).encode()


@pytest.mark.parametrize("what", UNREADABLE)
async def test_a_candidate_that_python_cannot_read_does_not_build(bench: DriverBench, what: str) -> None:
    data, said = UNREADABLE[what]
    files = {"kernel.py": data}
    with pytest.raises(BuildError, match=said):
        await bench.build(await bench.stage(files), files, print)


async def test_the_next_candidate_is_judged_as_if_they_had_never_been(bench: DriverBench) -> None:
    assert (await bench.check(await built(bench), "check-right", print)).worst <= 1
