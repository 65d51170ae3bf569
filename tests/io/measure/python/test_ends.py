"""What a callable has registered for the end of its process, which kpd looks at after the calls on unchanged inputs."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from kpd.measure.python.host.ending import WHEN
from tests.support.measure.python_tasks import HARNESS, RIGHT

SCRIPT = """
import sys
from kpd.measure.python.host import main
sys.exit(main.main(["rtol=1e-5", "atol=1e-6", "own=a.zip", "repeat", "b.zip", HOW, "100", "20000"]))
"""
HEAD = "import atexit, ctypes, os, threading, time, weakref\nfrom concurrent.futures import ThreadPoolExecutor\n"
HELD = "class Held: pass\nheld = Held()\n"


def problem(folder: Path, kernel: str, own: str = RIGHT, how: str = "no") -> dict[str, Any] | None:
    """What is wrong with a kernel in its repeats; the task's own may be another one."""
    (folder / "harness.py").write_text(HARNESS)
    for side, text in (("a", own), ("b", HEAD + kernel)):
        with zipfile.ZipFile(folder / f"{side}.zip", "w") as archive:
            archive.writestr("kernel.py", text)
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(folder)!r})\nHOW = {how!r}\n{SCRIPT}"]
    ended = subprocess.run(command, cwd=folder, input=b"77\n", capture_output=True, check=False, timeout=120)
    report = json.loads(ended.stdout)
    assert (ended.stderr, "leave" in report.get("spent", ["leave"])) == (b"", True)
    found: dict[str, Any] | None = report["problem"]
    return found


BAD = {
    "hangs in a finalizer": (f"{HELD}weakref.finalize(held, time.sleep, 1e6)\n", "timeout", "no answer within 10 s"),
    "hangs in a function of atexit": ("atexit.register(time.sleep, 1e6)\n", "timeout", "no answer within 10 s"),
    "has a thread that never ends": (
        "threading.Thread(target=time.sleep, args=(1e6,)).start()\n", "timeout", "no answer within 10 s",
    ),
    "ends in the middle": ("atexit.register(os._exit, 0)\n", "exit", "with status 0"),
    "crashes": ("atexit.register(ctypes.string_at, 0)\n", "crash", ""),
    "crashes when its module is taken apart": (
        "class Last:\n    def __del__(self, at=ctypes.string_at): at(0)\nlast = Last()\n", "crash", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_a_callable_whose_process_does_not_end_well_is_found(tmp_path: Path, what: str) -> None:
    source, kind, message = BAD[what]
    found = problem(tmp_path, source + RIGHT)
    assert found is not None
    assert (found["kind"], found["who"], found["message"], found["when"]) == (kind, "candidate", message, WHEN)


def test_no_callable_has_to_end_better_than_the_tasks_own(tmp_path: Path) -> None:
    own = f"import os, atexit\natexit.register(os._exit, 256)\n{RIGHT}"
    assert problem(tmp_path, f"atexit.register(os._exit, 0)\n{RIGHT}", own) is None


def test_the_tasks_own_kernel_is_started_anew_where_it_has_crashed(tmp_path: Path) -> None:
    """It does after some calls on unchanged inputs, which it gets as the results of the other one differ."""
    count = "import itertools\ncalls = itertools.count()\n"
    own = f"import ctypes\n{count}def kernel(a, b):\n    return 2 * a + b if next(calls) < 9 else ctypes.string_at(0)\n"
    differs = f"{count}def kernel(a, b):\n    return (2 * a + b) * a.dtype.type(1 + 2e-7 * (next(calls) % 3))\n"
    found = problem(tmp_path, f"atexit.register(os._exit, 0)\n{differs}", own, "auto")
    assert found is not None
    assert (found["kind"], found["message"], found["when"]) == ("exit", "with status 0", WHEN)


GOOD = {
    "registers nothing": "",
    "shuts its pool down": (
        "pool = ThreadPoolExecutor(2)\nassert [*pool.map(abs, [1, 2, 3])] == [1, 2, 3]\n"
        "atexit.register(pool.shutdown, wait=False)\n"
    ),
    "leaves its pool to Python": "pool = ThreadPoolExecutor(2)\nassert [*pool.map(abs, [1, 2, 3])] == [1, 2, 3]\n",
    "has a thread that need not end": "threading.Thread(target=time.sleep, args=(1e6,), daemon=True).start()\n",
    "takes a moment": f"{HELD}weakref.finalize(held, time.sleep, 0.3)\n",
    "prints": "atexit.register(print, 'the end', flush=True)\n",
    "raises": "def last(): raise ValueError\natexit.register(last)\n",
}


@pytest.mark.parametrize("what", GOOD)
def test_what_ends_well_is_none(tmp_path: Path, what: str) -> None:
    assert problem(tmp_path, GOOD[what] + RIGHT) is None
