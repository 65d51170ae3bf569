"""A call at a size of more elements than a number of 32 bits counts; with the stand-in far fewer count as that."""

import re
import shutil
from pathlib import Path

import pytest

from tests.support.measure.any_size import OF_ANY_SIZE, TWICE
from tests.support.measure.cuda_driver import Driver, build

MOST, LEAST = 40_000, 10_000
SIZE = r"rows=(\d+) cols=(\d+)"
BEYOND = {
    "leaves one out": ("rows * cols - (rows * cols > 5000);", rf"wrong 1 {SIZE}: y\[\d+\] is -?nan, and \S+ by the .+"),
    "is slow": (
        "rows * cols; struct timespec t = {0, 300000000}; if (count > 5000) nanosleep(&t, 0);",
        rf"wrong 1 {SIZE}: it takes \d+\.\d times as long as the task's own kernel",
    ),
    "cannot be launched": ("rows * cols > 5000 ? 1l << 40 : rows * cols;", rf"wrong 1 {SIZE}: cudaErrorInvalid\w+: .+"),
}


@pytest.fixture(scope="module", name="driver")
def _driver(tmp_path_factory: pytest.TempPathFactory) -> Driver:
    driver = build(tmp_path_factory.mktemp("overflow"), harness=OF_ANY_SIZE, kernel=TWICE)
    shutil.copy(driver.folder / "kernel.so", driver.folder / "own.so")
    return driver


def said(driver: Driver, object: str, own: str = "own.so", elements: tuple[int, int] = (MOST, LEAST)) -> list[str]:
    done = driver.bench("overflow", object, own, *elements)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(("most", "least"), [(MOST, MOST), (1 << 60, LEAST)], ids=["most", "no room for most"])
def test_a_right_kernel_is_called_at_such_a_size(driver: Driver, most: int, least: int) -> None:
    asked, seen = said(driver, "kernel.so", elements=(most, least))
    found = re.fullmatch(f"asked {SIZE}", asked)
    assert found is not None and seen == f"seen {asked.removeprefix('asked ')}"
    assert least < int(found[1]) * int(found[2]) < 3 * least


@pytest.mark.parametrize("how", BEYOND)
def test_what_is_wrong_there_alone_is_told(driver: Driver, how: str) -> None:
    wrong, told = BEYOND[how]
    driver.compiled("wrong.so", "#include <time.h>\n" + TWICE.replace("rows * cols;", wrong))
    asked, complaint, seen = said(driver, "wrong.so")
    assert re.fullmatch(told, complaint)
    assert asked.removeprefix("asked ") == seen.removeprefix("seen ")


def test_a_crash_there_is_the_candidates(driver: Driver) -> None:
    driver.compiled("crashes.so", TWICE.replace("rows * cols;", "rows * cols; if (count > 5000) __builtin_trap();"))
    done = driver.bench("overflow", "crashes.so", "own.so", MOST, LEAST)
    assert done.returncode < 0
    assert done.stdout.startswith("asked ") and "seen" not in done.stdout


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("rows * cols;", BEYOND["leaves one out"][0]),
        ("rows * cols;", BEYOND["cannot be launched"][0]),
        ("x[i]", "x[i & 8191]"),
    ],
    ids=["leaves one out", "cannot be launched", "begins anew"],
)
def test_nothing_is_asked_where_the_tasks_own_kernel_is_wrong(driver: Driver, right: str, wrong: str) -> None:
    driver.compiled("beyond.so", TWICE.replace(right, wrong))
    assert said(driver, "kernel.so", own="beyond.so") == []


def test_nothing_is_asked_where_there_is_no_room_or_the_harness_fills_numbers(driver: Driver, tmp_path: Path) -> None:
    assert said(driver, "kernel.so", elements=(1 << 60, 1 << 50)) == []
    whole = build(tmp_path, harness=OF_ANY_SIZE.replace("KPD_IN, KPD_F32", "KPD_IN, KPD_I32"), kernel=TWICE)
    shutil.copy(tmp_path / "kernel.so", tmp_path / "own.so")
    assert said(whole, "kernel.so") == []
