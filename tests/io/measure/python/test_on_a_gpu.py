"""The runner and its worker on a GPU, with libraries that pass for torch and for CUDA's driver."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.measure.on_a_gpu import HARNESS, HEAD, OUT, RIGHT, environment

# Checks the kernel in this folder as the first process of a run does, then takes batches, and looks at one of so many.
RUNNER = """
import json, random, sys
sys.path.insert(0, ".")
import numpy, torch
from kpd.measure.python.host.calling import CallSets
from kpd.measure.python.host.problems import KernelProblem
from kpd.measure.python.host.device import CudaDevice
from kpd.measure.python.host.harness import PythonHarness
from kpd.measure.python.host.process import Worker
from kpd.measure.python.host.spare import fork

rng, spare = random.Random(1), fork()
harness = PythonHarness()
worker = Worker(spare, 1 << 24, ["numpy", "torch"], None, True, sys.path)
worker.lend(CudaDevice())
worker.start()
found = {"probe_us": worker.probe_ns // 1000, "right": [], "probed_us": []}
try:
    worker.ask(9000, what="load", side="b", folder=sys.argv[1], entry="kernel", compiled="")
    drawn = harness.drawn("small", [1, 2, 3], "normal", True)
    calls = CallSets(harness, {"b": worker}, "small", "normal", drawn.counts)
    for number, inputs in enumerate(drawn.sets):
        calls.fill(number, inputs)
    calls.prepare(9000)
    calls.learn("b", 9000, rng)

    def right(result):
        want = harness.truth(result.inputs.values())
        return all(numpy.allclose(one.read(), want[name]) for name, one in result.outputs.items())

    found["right"] += map(right, calls.results("b", 3, 9000))
    for number in range(3):
        calls.unchanged("b", number)
    for turn in range(40):
        calls.change(rng)
        calls.run("b", 3, 1, 9000, probes=True)
        if turn % int(sys.argv[2]):
            calls.follow("b")
            continue
        result = calls.result("b", rng.randrange(3))
        calls.unchanged("b", 1)
        calls.looked("b", result is not None)
        found["probed_us"].append(worker.probed_ns // 1000)
        found["right"].append(None if result is None else right(result))
except KernelProblem as err:
    found["problem"] = err.report["message"] or err.report["kind"]
except Exception as err:
    found["problem"] = f"{type(err).__name__}: {err}"
print(json.dumps(found))
worker.end()
"""


@pytest.fixture(name="environment", scope="module")
def _environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return environment(tmp_path_factory.mktemp("cuda"))


def found(
    folder: Path, environment: dict[str, str], kernel: str, harness: str = HARNESS, of: int = 1, **more: str
) -> dict[str, Any]:
    own = folder / "kernel"
    own.mkdir()
    (own / "kernel.py").write_text(HEAD + kernel)
    (folder / "harness.py").write_text(harness)
    command = [sys.executable, "-c", RUNNER, str(own), str(of)]
    run = subprocess.run(
        command, env=environment | more, cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    assert run.returncode == 0, run.stderr
    return dict(json.loads(run.stdout))


def test_a_right_kernel_is_right_in_each_call(tmp_path: Path, environment: dict[str, str]) -> None:
    told = found(tmp_path, environment, RIGHT)
    assert told["right"] == [True] * 43
    assert "problem" not in told


IN_PLACE = HARNESS.replace('("out",)', '("b",)')
TWO = HARNESS.replace('("out",)', '("out", "sum")').replace(
    'a.array.astype("float64") + b.array', 'a.array.astype("float64") + b.array, a.array.sum(dtype="float64")'
)
WITH_NUMPY = HARNESS.replace('for name in "ab"}', 'for name in "a"} | {"b": draw.values(dims["n"])}').replace(
    "b.array", "b"
)


@pytest.mark.parametrize(
    ("kernel", "harness"),
    [
        ("def kernel(a, b):\n    b.array[...] = 2 * a.array + b.array\n", IN_PLACE),
        (RIGHT.replace("return out", "return out, a.array.sum(dtype='float64').item()"), TWO),
        (RIGHT.replace("b.array", "b"), WITH_NUMPY),
        ("def kernel(a, b):\n    return 2 * a.array + b.array\n", HARNESS),
        (
            "def kernel(a, b):\n    out = torch.empty((4099, 3), device='cuda')\n"
            "    out.array[:, 1] = 2 * a.array + b.array\n    return torch.Tensor(out.array[:, 1], True)\n",
            HARNESS,
        ),
        ("def kernel(a, b):\n    return a\n", HARNESS.replace('2.0 * a.array.astype("float64") + b.array', "a.array")),
    ],
    ids=[
        "in place",
        "two, one of them a number",
        "an argument of NumPy's",
        "a result of NumPy's",
        "a column",
        "an input",
    ],
)
def test_what_lies_elsewhere_is_read_as_well(
    tmp_path: Path, environment: dict[str, str], kernel: str, harness: str
) -> None:
    told = found(tmp_path, environment, kernel, harness)
    assert told["right"] == [True] * 43
    assert "problem" not in told


@pytest.mark.parametrize(
    ("kernel", "problem"),
    [
        (RIGHT.replace("return out", "a.array[7] = 1\n    return out"), "it changes its input a"),
        (
            RIGHT.replace("return out", "ctypes.memset(b.data_ptr() + 4 * 4099 + 8, 1, 4)\n    return out"),
            "it writes outside its arguments",
        ),
        (
            RIGHT.replace(OUT, "    out = torch.at(torch.cuda.anew(16396), 16396).view(a.dtype)\n"),
            "its results lie in other memory each time",
        ),
        (
            RIGHT.replace("return out", "return torch.Tensor(out.array.copy(), True)"),
            "cuMemGetAddressRange_v2: CUDA error 1",
        ),
        (
            f"calls = []\n{RIGHT}right = kernel\ndef kernel(a, b):\n    calls.append(a)\n    if len(calls) < 20:\n"
            "        return right(a, b)\n    return torch.at(torch.cuda.anew(16396), 16396).view(a.dtype)\n",
            "its results lie in other memory each time",
        ),
        ("def kernel(a, b):\n    raise ValueError('no')\n", "ValueError: no"),
    ],
    ids=["changes an input", "writes beside", "takes memory anew", "says a wrong place", "elsewhere, later", "raises"],
)  # fmt: skip
def test_what_a_kernel_does_wrong_is_told(
    tmp_path: Path, environment: dict[str, str], kernel: str, problem: str
) -> None:
    assert problem in found(tmp_path, environment, kernel)["problem"]


LATER_IN_TURN = f"""
calls, own = [], []
{RIGHT}
def elsewhere(a, b):
    if not own:
        own.extend(torch.cuda.anew(16396) for _ in range(12))
    out = torch.at(own[len(calls) % 12], 16396).view(a.dtype)
    out.array[...] = 2 * a.array + b.array
    return out
right = kernel
def kernel(a, b):
    calls.append(a)
    return (right if len(calls) < 20 else elsewhere)(a, b)
"""


def test_results_in_other_memory_from_some_call_on_are_found_again(tmp_path: Path, environment: dict[str, str]) -> None:
    told = found(tmp_path, environment, LATER_IN_TURN, of=5)
    assert "problem" not in told
    assert told["right"].count(None) in (1, 2)
    assert set(told["right"][-5:]) == {True}


def test_results_of_before_are_wrong(tmp_path: Path, environment: dict[str, str]) -> None:
    kept = "def kernel(a, b):\n    return kept.setdefault(a.data_ptr(), right(a, b))\n"
    kernel = f"kept = {{}}\n{RIGHT}right = kernel\n{kept}"
    assert found(tmp_path, environment, kernel)["right"].count(False) > 30


def test_it_waits_for_a_device_that_is_busy_after_answers_alone(tmp_path: Path, environment: dict[str, str]) -> None:
    told = found(tmp_path, environment, RIGHT, STANDIN_BUSY_US="3000")
    assert min(told["probed_us"]) > 3000
    assert told["probe_us"] > 3000
