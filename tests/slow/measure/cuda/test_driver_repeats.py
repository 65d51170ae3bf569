"""The CUDA driver's calls on unchanged inputs: several a request, while a thread makes the inputs of the next cases."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from kpd.measure.cuda.bench import ENGINE
from kpd.measure.driver.harness import SOURCES
from tests.support.measure.any_size import OF_ANY_SIZE, TWICE
from tests.support.measure.cuda_driver import HARNESS, KERNEL, NVCC, Driver, build, compile_with

SMALL, MIDDLE, LARGE = "1003", "4000", "6001"
SEVERAL = 16
"""Calls of a request."""


@pytest.fixture(scope="module", name="driver")
def _driver(tmp_path_factory: pytest.TempPathFactory) -> Driver:
    """`bench`, and `narrow`, which has memory for the largest case and a byte."""
    driver = build(tmp_path_factory.mktemp("repeats"))
    parts = [f"kpd/{name}" for name in ("cuda/task.cu", *ENGINE, *SOURCES)]
    compile_with(NVCC, driver.folder, "narrow", "-D_GNU_SOURCE", "-DMOST_AHEAD=1", *parts, "-lpthread", "-ldl")
    return driver


def repeated(
    driver: Driver,
    fault: str = "",
    *settings: str,
    asked: str = "no",
    object: str = "",
    program: str = "bench",
    ms: int = 300,
) -> dict[str, Any]:
    (driver.folder / "turn").unlink(missing_ok=True)
    called = object or driver.kernel(fault)
    return driver.report("rtol=1e-6", *settings, "repeat", called, asked, ms, 20_000, program=program)


def test_each_case_is_called_and_the_quickest_of_the_smaller_half_most_often(driver: Driver) -> None:
    found = repeated(driver, asked="yes")
    calls = found["calls"]
    assert list(calls) == [MIDDLE, SMALL, LARGE], "as the harness has them"
    assert min(calls.values()) >= 4
    assert max(calls[SMALL], calls[MIDDLE]) > 2 * calls[LARGE]
    assert set(found["spent"]) == {"inputs", "context", "turn", "load", "calls", "quickest", "end"}


@pytest.mark.parametrize(
    ("fault", "kind", "told"),
    [
        ("late_value", "wrong", ""),
        ("late_integer", "wrong", ""),
        ("late_past", "damage", "wrote past the end of y, at y[1003]"),
        ("late_before", "damage", "wrote before u, at u[-1]"),
        ("late_input", "damage", "changed its input k[5]"),
    ],
)
def test_the_one_call_of_a_request_that_is_wrong_is_told(driver: Driver, fault: str, kind: str, told: str) -> None:
    problem = repeated(driver, fault, ms=3000)["problem"]  # a slow machine needs as long for 21 calls
    assert (problem["kind"], problem["case"], problem["message"]) == (kind, SMALL, told)
    assert problem["when"] == "call 21 on two sets of inputs in turn"


def test_of_a_crash_in_a_request_its_calls_are_told(driver: Driver) -> None:
    problem = repeated(driver, "late_crash", ms=3000)["problem"]
    assert (problem["kind"], problem["case"]) == ("crash", SMALL)
    first, *last = map(int, re.findall(r"\d+", problem["when"].partition(" on ")[0]))
    assert first <= 21 <= (last[0] if last else first) < first + SEVERAL, "one at a time where calls are slow"


def test_a_launcher_whose_stream_is_captured_is_right_then_or_refuses(driver: Driver) -> None:
    problem = repeated(driver, "captured")["problem"]
    assert (problem["kind"], problem["output"], problem["index"]) == ("wrong", "y", 7)
    assert repeated(driver, "waits")["problem"] is None, "it waits for its stream, which no capture allows"


def test_work_that_its_stream_does_not_wait_for_is_told_whenever_it_is_done(driver: Driver) -> None:
    problem = repeated(driver, "forks")["problem"]
    assert (problem["kind"], problem["when"]) == ("device", "call 3 on two sets of inputs in turn")
    assert problem["message"] == "leaves work on a stream of its own that the caller's stream does not wait for"


def test_who_knows_an_output_by_an_input_is_wrong_where_only_one_is_elsewhere(driver: Driver) -> None:
    problem = repeated(driver, "keyed")["problem"]
    assert (problem["kind"], problem["output"]) == ("wrong", "y")


def test_what_is_timed_only_is_called_with_inputs_of_any_kind(driver: Driver) -> None:
    """Which, follows from the seed."""
    problem = repeated(driver, "tame", "inputs=normal,heavy_tail,large")["problem"]
    assert (problem["kind"], problem["case"], problem["distribution"]) == ("wrong", LARGE, "heavy_tail")
    assert repeated(driver, "tame", "inputs=normal")["problem"] is None


@pytest.mark.parametrize(("dim", "told"), [("rows", r"rows=\d{6,7} cols=[12]"), ("cols", r"rows=[12] cols=\d{6,7}")])
def test_where_a_dim_is_large_a_kernel_is_called_too(tmp_path: Path, dim: str, told: str) -> None:
    driver = build(tmp_path, harness=OF_ANY_SIZE, kernel=TWICE)
    shutil.copy(tmp_path / "kernel.so", tmp_path / "own.so")
    asked = ("rtol=1e-6", "baseline=own.so", "repeat", "wrong.so", "no", 100, 20_000)
    driver.compiled("wrong.so", TWICE.replace("rows * cols;", f"rows * cols - ({dim} > 300000);"))
    problem = driver.report("sizes=any", *asked)["problem"]
    assert (problem["kind"], problem["when"]) == ("wrong", "a size far beyond the cases'")
    assert re.fullmatch(told, problem["case"])
    assert driver.report(*asked)["problem"] is None, "where only those of the cases count"


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        ("rows * cols - (rows > 12 && cols > 7);", "wrong"),
        ("rows > 12 && cols > 7 ? 1l << 40 : rows * cols;", "device"),
    ],
)
def test_where_all_dims_are_large_it_is_about_as_the_tasks_own_kernel_or_right(
    tmp_path: Path, wrong: str, kind: str
) -> None:
    driver = build(tmp_path, harness=OF_ANY_SIZE, kernel=TWICE)
    shutil.copy(tmp_path / "kernel.so", tmp_path / "own.so")
    driver.compiled("wrong.so", TWICE.replace("rows * cols;", wrong))
    problem = driver.report("sizes=any", "rtol=1e-6", "baseline=own.so", "repeat", "wrong.so", "no", 100, 20_000)[
        "problem"
    ]
    assert (problem["kind"], problem["when"]) == (kind, "a size far beyond the cases'")
    rows, cols = map(int, re.findall(r"\d+", problem["case"]))
    assert rows > 12 and cols > 7 and rows * cols <= 34 * 12 * 7


@pytest.mark.parametrize(
    ("tickets", "where", "wrong"), [(3, "count > 0", True), (3, "count > 32", True), (4, "count > 0", False)]
)
def test_numbers_that_it_keeps_on_the_device_are_set_forward_to_their_end(
    tmp_path: Path, tickets: int, where: str, wrong: bool
) -> None:
    """Of a kernel that takes so many tickets in a call: four are a whole part of 2^32, three are not."""
    driver = build(tmp_path, harness=OF_ANY_SIZE, kernel=TWICE)
    shutil.copy(tmp_path / "kernel.so", tmp_path / "own.so")
    last = f"if (!i && {where} && (taken += {tickets}) % {tickets}) y[0] += 1.0f;"
    text = TWICE.replace("x[i];", f"x[i];\n    {last}")
    driver.compiled("its.so", f"static __device__ unsigned other[2] = {{1, 2}};\n__device__ unsigned taken;\n{text}")
    asked = ("sizes=any", "rtol=1e-6", "baseline=own.so", "repeat", "its.so", "no", 100, 20_000)
    problem = driver.report(*asked)["problem"]
    assert (problem is not None) == wrong
    if problem is not None:
        assert (problem["kind"], problem["index"]) == ("wrong", 0)
        assert "to which numbers that it keeps were set forward" in problem["when"]


@pytest.mark.parametrize(("taken", "freed", "told"), [(8192, False, True), (8192, True, False), (1 << 20, None, False)])
def test_who_keeps_memory_of_the_device_of_each_call_is_told(
    tmp_path: Path, taken: int, freed: bool | None, told: bool
) -> None:
    """What is taken once is not; nor is what is given back."""
    driver = build(tmp_path, harness=OF_ANY_SIZE, kernel=TWICE)
    takes = f"void *own; cudaMallocAsync(&own, {taken}, stream);" + " cudaFreeAsync(own, stream);" * bool(freed)
    once = f"static void *own; if (!own) cudaMalloc(&own, {taken});"
    text = TWICE.replace("    long count = ", f"    {once if freed is None else takes}\n    long count = ", 1)
    driver.compiled("takes.so", text)
    problem = driver.report("rtol=1e-6", "repeat", "takes.so", "no", 3000, 20_000)["problem"]
    assert (problem is not None) == told
    if problem is not None:
        assert re.fullmatch(r"keeps memory of the device: \d+ KiB of \d+ calls", problem["message"])


@pytest.mark.parametrize(("fault", "told"), [("end_sleeps", None), ("end_hangs", ("timeout", "10 s"))])
def test_a_process_has_ten_seconds_to_end(driver: Driver, fault: str, told: tuple[str, str] | None) -> None:
    problem = repeated(driver, fault)["problem"]
    assert (problem and (problem["kind"], problem["message"])) == told


def test_inputs_are_drawn_in_the_order_of_the_harness(driver: Driver, tmp_path: Path) -> None:
    """Its first case is asked for second: it has the inputs that it has as the only one."""
    only = build(tmp_path, harness=HARNESS.replace("cases, 3, 8", "cases, 1, 8"))
    driver.compiled("middle.so", KERNEL.replace("wrong == VALUE", f"n == {MIDDLE}"))
    shutil.copy(driver.folder / "middle.so", only.folder)
    one, of_three = (repeated(which, object="middle.so")["problem"] for which in (only, driver))
    assert (one["case"], one["when"]) == (MIDDLE, "call 1 on two sets of inputs in turn")
    assert one == of_three


@pytest.mark.parametrize("settings", [(), ("truth=right.so",)])
@pytest.mark.parametrize("program", ["bench", "narrow"])
def test_inputs_and_truth_stay_until_they_were_used(driver: Driver, program: str, settings: tuple[str, ...]) -> None:
    """Whether a thread makes them, or who asks for them."""
    found = repeated(driver, "", *settings, program=program)
    assert found["problem"] is None
    assert min(found["calls"].values()) >= 4
