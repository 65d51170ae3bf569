"""Calls at other sizes, one with more elements than 32 bits count; with the stand-in far fewer count as that."""

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
    """Without what is said of the size near the one case."""
    done = driver.bench("overflow", object, own, *elements)
    assert done.returncode == 0, done.stderr
    near, seen, *beyond = done.stdout.splitlines()
    found = re.fullmatch(f"asked {SIZE}", near)
    assert found is not None and seen == f"seen {near.removeprefix('asked ')}"
    assert 9 <= int(found[1]) <= 15 and 6 <= int(found[2]) <= 8
    return beyond


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
    assert done.stdout.count("asked ") == 2 and done.stdout.count("seen ") == 1


SLEEPS = "rows * cols; struct timespec t = {0, 3000000}; if ({when}) nanosleep(&t, 0);"


def test_who_is_slow_at_sizes_near_the_cases_is_told(driver: Driver) -> None:
    slow = TWICE.replace("rows * cols;", SLEEPS.replace("{when}", "rows < 16"))
    driver.compiled("by-heart.so", "#include <time.h>\n" + slow)
    done = driver.bench("overflow", "by-heart.so", "own.so", MOST, LEAST)
    *_, told = done.stdout.splitlines()
    assert re.fullmatch(
        r"wrong 1 sizes near those of the cases: it takes \d+\.\d times as long as the task's own kernel", told
    )


def test_what_fails_near_the_cases_is_told_with_the_size(driver: Driver) -> None:
    wrong = "rows == 12 && cols == 7 ? rows * cols : 1l << 40;"
    driver.compiled("unlaunched.so", TWICE.replace("rows * cols;", wrong))
    tries = [driver.bench("overflow", "unlaunched.so", "own.so", MOST, LEAST).stdout.splitlines() for _ in range(4)]
    assert any(re.fullmatch(rf"wrong 1 {SIZE}: cudaErrorInvalid\w+: .+", said[-1]) for said in tries)


def test_who_is_as_slow_as_the_tasks_own_kernel_is_not(driver: Driver) -> None:
    driver.compiled("slow.so", "#include <time.h>\n" + TWICE.replace("rows * cols;", SLEEPS.replace("{when}", "1")))
    _, seen = said(driver, "slow.so", own="slow.so")
    assert seen.startswith("seen ")


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
    assert whole.bench("overflow", "kernel.so", "own.so", MOST, LEAST).stdout == ""
