"""Where the inputs of cases lie that are timed: all at once, or each when its turn comes."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from kpd.measure.python.host.fresh import PAIRS
from kpd.measure.python.host.timing import FRESH_PAIRS

HARNESS = """\
import numpy as np
ENTRY = "kernel"
OUTPUTS = ("out",)
CASES = {"short": {"n": 5}, "long": {"n": 40_001}, "odd": {"n": 4099}}
def inputs(dims, draw):
    return {"a": draw.values(dims["n"]), "b": draw.values(dims["n"])}
def truth(a, b):
    return 2 * a.astype(np.float64) + b
"""
COUNTS = """
import gc
from kpd.measure.python.host import worker
gc.unfreeze()
(kernels,) = (one for one in gc.get_objects() if type(one) is worker.Kernels)
plain, asked = kernels.prepare, []
def prepare(*args):
    asked.append(args)
    assert len(asked) <= 6, "asked to get ready more than twice for a case"
    plain(*args)
kernels.prepare = prepare  # of the one object: that a function is replaced for all is found
"""
KEEPS = """
import numpy as np
seen = {}
def kernel(a, b):
    last = seen.get((id(a), len(a)))
    if last is None or np.count_nonzero(last != a) > len(a) // 2:
        for _ in range(20):
            np.sort(a)
    seen[id(a), len(a)] = a.copy()
    return 2 * a + b
"""
KERNELS = {"a": "def kernel(a, b):\n    return b + 2 * a\n", "b": "def kernel(a, b):\n    return 2 * a + b\n"}
SCRIPT = """
import sys
from kpd.measure.python.host import batching, main, timing
batching.EARLY, timing.ANEW_PCT = {early}, {anew}
sys.exit(main.main(["rtol=1e-5", "atol=1e-6", "{verb}", "a.zip", "b.zip", "a", "{many}", "20000"]))
"""


def timed(folder: Path, verb: str, early: int, kernels: dict[str, str], anew: int = 0) -> dict[str, Any]:
    """The report of a process of kernels that are right."""
    report = reported(folder, verb, early, kernels, anew)
    assert report["problem"] is None
    return report


def reported(folder: Path, verb: str, early: int, kernels: dict[str, str], anew: int = 0) -> dict[str, Any]:
    """The report of a process; its inputs lie in memory at once where they take no more than `early` bytes.

    Of its calls in a contest those on fresh inputs are in arrays made `anew`, if that is 100.
    """
    (folder / "harness.py").write_text(HARNESS)
    for side, text in kernels.items():
        with zipfile.ZipFile(folder / f"{side}.zip", "w") as archive:
            archive.writestr("kernel.py", text)
    script = SCRIPT.format(early=early, anew=anew, verb=verb, many={"time": 8, "fresh": 300}[verb])
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(folder)!r})\n{script}"]
    ended = subprocess.run(command, cwd=folder, input=b"1234\n", capture_output=True, check=False)
    report: dict[str, Any] = json.loads(ended.stdout)
    assert (ended.stderr, ended.returncode) == (b"", int(report["problem"] is not None))
    return report


@pytest.mark.parametrize("verb", ["time", "fresh"])
@pytest.mark.parametrize("early", [1 << 30, 1 << 12])
def test_results_are_right_wherever_inputs_lie(tmp_path: Path, verb: str, early: int) -> None:
    report = timed(tmp_path, verb, early, KERNELS)
    assert list(report["cases"]) == ["short", "long", "odd"]
    assert ("lay" in report["spent"]) == (early > 1 << 12)


@pytest.mark.parametrize("early", [1 << 30, 1 << 12])
def test_a_worker_is_not_asked_to_get_ready_between_calls_on_fresh_inputs(tmp_path: Path, early: int) -> None:
    """What it does then is not timed: it could warm up for the calls that are."""
    timed(tmp_path, "fresh", early, KERNELS | {"b": COUNTS + KERNELS["b"]})


def test_an_audit_on_fresh_inputs_has_a_process_for_either_kernel(tmp_path: Path) -> None:
    cases = timed(tmp_path, "fresh", 1 << 30, KERNELS)["cases"]
    for case in cases.values():
        assert case["apart"]
        assert len(case["a_ns"]) == len(case["b_ns"]) <= PAIRS
        assert case["compared"]
    assert len(cases["short"]["b_ns"]) == PAIRS


@pytest.mark.parametrize("early", [1 << 30, 1 << 12])
def test_a_contest_tells_what_is_kept_while_inputs_hardly_change_from_what_is_there_on_fresh_ones(
    tmp_path: Path, early: int
) -> None:
    slow = "import numpy as np\ndef kernel(a, b):\n    for _ in range(20):\n        np.sort(a)\n    return b + 2 * a\n"
    cases = timed(tmp_path, "time", early, {"a": slow, "b": KEEPS})["cases"]
    for name in ("long", "odd"):
        case, fresh = cases[name], cases[name]["fresh"]
        assert 1 <= len(fresh["a_ns"]) == len(fresh["b_ns"]) <= FRESH_PAIRS
        call = {side: min(case[side]) / case["reps"] for side in ("a_ns", "b_ns")}  # other work makes them longer only
        anew = {side: min(fresh[side]) / fresh["reps"] for side in ("a_ns", "b_ns")}
        assert 2 * call["b_ns"] < anew["b_ns"]
        assert 2 * call["b_ns"] < call["a_ns"] < 2 * anew["b_ns"]


def test_of_a_candidate_that_is_not_faster_no_calls_on_fresh_inputs_are_timed(tmp_path: Path) -> None:
    slow = "def kernel(a, b):\n    for _ in range(20):\n        out = b + 2 * a\n    return out\n"
    for case in timed(tmp_path, "time", 1 << 30, KERNELS | {"b": slow})["cases"].values():
        assert "fresh" not in case


def test_results_on_fresh_inputs_are_compared_in_a_contest(tmp_path: Path) -> None:
    """It is right while inputs hardly change."""
    wrong = """
import numpy as np
last, out = {}, {}
def kernel(a, b):
    at = a.ctypes.data, len(a)
    hardly = at not in last or np.count_nonzero(last[at] != a) < len(a) // 2 + 4
    last[at] = a.copy()
    return 2 * a + b if hardly else b
"""
    slow = "import numpy as np\ndef kernel(a, b):\n    for _ in range(20):\n        np.sort(a)\n    return b + 2 * a\n"
    report = reported(tmp_path, "time", 1 << 30, {"a": slow, "b": wrong})
    assert report["problem"]["kind"] == "wrong"


@pytest.mark.parametrize("early", [1 << 30, 1 << 12])
def test_a_contest_calls_on_fresh_inputs_in_arrays_that_are_new(tmp_path: Path, early: int) -> None:
    """It is slow in the first calls on an array, and on one that lies where none did before."""
    known = """
import numpy as np
arrays, calls = {}, {}
def kernel(a, b):
    arrays[id(a)] = a
    for key in ((id(a), len(a)), (a.ctypes.data, len(a), 0)):
        calls[key] = calls.get(key, 0) + 1
        if calls[key] <= 4:
            for _ in range(10):
                np.sort(a)
    return 2 * a + b
"""
    slow = "import numpy as np\ndef kernel(a, b):\n    for _ in range(20):\n        np.sort(a)\n    return b + 2 * a\n"
    case = timed(tmp_path, "time", early, {"a": slow, "b": known}, anew=100)["cases"]["long"]
    call = min(case["b_ns"]) / case["reps"]
    anew = {side: min(case["fresh"][side]) / case["fresh"]["reps"] for side in ("a_ns", "b_ns")}
    assert 2 * call < anew["b_ns"] < 2 * anew["a_ns"]
