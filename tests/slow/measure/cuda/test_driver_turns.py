"""The CUDA driver among others: memory that they take, and processes that follow one another."""

import contextlib
import fcntl
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kpd.measure.cuda.bench import ENGINE
from kpd.measure.driver.harness import SOURCES
from tests.support.measure.cuda_driver import KERNEL, NVCC, SEED, Driver, build, compile_with
from tests.support.patience import PATIENCE_S

ARGUMENTS = ("a", "4", "20000")
PLENTY = str(2 << 30)


@pytest.fixture(scope="module", name="driver")
def _driver(tmp_path_factory: pytest.TempPathFactory) -> Driver:
    return build(tmp_path_factory.mktemp("turns"))


@pytest.fixture(name="free")
def _free(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> Path:
    """How many bytes are free on the device."""
    path = driver.folder / "free"
    path.write_text(PLENTY)
    monkeypatch.setenv("KPD_STANDIN_FREE", str(path))
    monkeypatch.setenv("KPD_UNCONFINED", "1")  # the stand-in reads that file where a GPU would know
    return path


def test_a_device_that_others_have_filled_is_no_fault_of_the_kernel(driver: Driver, free: Path) -> None:
    free.write_text("100000")
    done = driver.bench("rtol=1e-6", "check", driver.kernel(), 1, 20_000)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.search(r"4000 needs \d+ MB of device memory, of which 0 MB may be taken", done.stderr)


@pytest.mark.usefixtures("free")
def test_a_kernel_that_takes_the_memory_for_good_is_at_fault(driver: Driver) -> None:
    problem = driver.check("leaks")["problem"]
    assert (problem["kind"], problem["who"], problem["case"]) == ("device", "candidate", "1003")
    assert re.fullmatch(r"1003 needs \d+ MB, but the kernels have left 0 MB of device memory", problem["message"])


@contextlib.contextmanager
def waiting(driver: Driver, candidate: str) -> Iterator[subprocess.Popen[str]]:
    """A timing, once it waits for the turn of the process before."""
    with (driver.folder / "turn").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        command = ["./bench", "rtol=1e-6", "time", driver.kernel(), candidate, *ARGUMENTS]
        report = (driver.folder / "report").open("w")
        with (
            report,
            subprocess.Popen(command, cwd=driver.folder, stdin=subprocess.PIPE, stdout=report, text=True) as process,
        ):
            assert process.stdin is not None
            process.stdin.write(SEED)
            process.stdin.close()
            try:
                with pytest.raises(subprocess.TimeoutExpired):
                    process.wait(0.5)
                assert (driver.folder / "report").read_text() == ""
                yield process
                fcntl.flock(turn, fcntl.LOCK_UN)
                process.wait(PATIENCE_S)
            finally:
                process.kill()


def test_memory_is_counted_when_the_process_before_has_given_back_its_own(driver: Driver, free: Path) -> None:
    free.write_text("100000")
    with waiting(driver, driver.kernel()) as process:
        free.write_text(PLENTY)
    assert process.returncode == 0


def test_an_object_that_cannot_be_loaded_is_reported_in_turn(driver: Driver) -> None:
    """Or two reports would run into each other."""
    (driver.folder / "none.so").write_text("no object")
    with waiting(driver, "none.so") as process:
        pass
    assert process.returncode == 1
    assert json.loads((driver.folder / "report").read_text())["problem"]["kind"] == "load"


def test_processes_report_in_the_order_of_their_numbers_whoever_is_ready_first(driver: Driver) -> None:
    """Or what one kernel takes alone would count as the other's."""
    (driver.folder / "turn").unlink(missing_ok=True)
    command = ["./bench", "rtol=1e-6", "time", driver.kernel(), driver.kernel(), *ARGUMENTS]

    def begin(number: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command, cwd=driver.folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
            env={**os.environ, "KPD_TURN": number},
        )  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(SEED)
        process.stdin.close()
        return process

    with begin("2") as second:
        with pytest.raises(subprocess.TimeoutExpired):
            second.wait(0.7)
        with begin("1") as first:
            assert first.wait(PATIENCE_S) == 0
        assert second.wait(PATIENCE_S) == 0


@pytest.mark.parametrize("case", ["4000", "6001"])
def test_inputs_are_the_same_whether_they_are_made_before_the_turn_or_in_it(driver: Driver, case: str) -> None:
    """Swaps change nothing where all elements are alike, so what an element should be tells the inputs."""
    parts = [f"kpd/{name}" for name in ("cuda/task.cu", *ENGINE, *SOURCES)]
    narrow = ["-D_GNU_SOURCE", "-DMOST_AHEAD_OF_TIMING=1", *parts, "-lpthread", "-ldl"]
    if not (driver.folder / "narrow").exists():
        compile_with(NVCC, driver.folder, "narrow", *narrow)
    driver.compiled(f"{case}.so", KERNEL.replace("wrong == VALUE", f"n == {case}"))

    def wanted(program: str) -> tuple[str, str]:
        (driver.folder / "turn").unlink(missing_ok=True)
        settings = ("inputs=constant", "rtol=1e-6")
        found = driver.report(*settings, "time", driver.kernel(), f"{case}.so", *ARGUMENTS, program=program)
        return found["problem"]["case"], found["problem"]["want"]

    assert wanted("bench") == wanted("narrow")
    assert wanted("bench")[0] == case
