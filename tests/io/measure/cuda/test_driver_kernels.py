"""The CUDA driver, on the CPU stand-in: right kernels pass, and each wrong one is told what is wrong with it."""

import json
import re
import shutil

import pytest

from tests.support.measure.cuda_driver import SEED, Driver, build


@pytest.fixture(scope="module", name="driver")
def _driver(tmp_path_factory: pytest.TempPathFactory) -> Driver:
    return build(tmp_path_factory.mktemp("driver"))


def test_the_harness_describes_its_cases(driver: Driver) -> None:
    found = json.loads(driver.bench("describe").stdout)
    assert found["symbol"] == "blend"
    assert [(case["name"], case["timed"], case["checked"]) for case in found["cases"]] == [
        ("4000", True, True),
        ("1003", False, True),
        ("6001", True, False),
    ]
    assert found["cases"][1]["bytes"] == {
        "x": 4012, "k": 4012, "h": 2006, "w": 2006, "y": 4012, "u": 4012, "g": 2006, "v": 2006,
    }  # fmt: skip


def test_a_right_kernel_passes(driver: Driver) -> None:
    found = driver.check()
    assert found["problem"] is None
    assert found["comparisons"] == 5 * 4 * (4000 + 1003)
    assert 0 <= found["worst"] <= 1


WRONG = {
    "value": ("y", 7, r"\d"),
    "small": ("g", 7, r"\d"),
    "integer": ("u", 7, r"\d"),
    "gap": ("y", 512, "unwritten"),
    "last": ("y", None, "unwritten"),
    "remembers": ("y", 0, "unwritten"),
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_element_is_named(driver: Driver, fault: str) -> None:
    output, index, got = WRONG[fault]
    problem = driver.check(fault)["problem"]
    assert (problem["kind"], problem["who"], problem["when"]) == ("wrong", "candidate", "check")
    assert problem["output"] == output
    assert index is None or problem["index"] == index
    assert re.search(got, problem["got"])
    assert 1 <= problem["wrong"] <= problem["compared"]


def test_a_launcher_that_does_not_name_its_stream_is_wrong(driver: Driver) -> None:
    """In timed calls that is the default one. In those that are looked at it is another, where inputs may be late."""
    problem = driver.check("forgets")["problem"]
    assert (problem["kind"], problem["who"], problem["when"]) == ("wrong", "candidate", "check")


def test_integers_have_no_tolerance(driver: Driver) -> None:
    found = driver.report("rtol=1.0", "atol=1e9", "check", driver.kernel("integer"), 1, 20_000)
    assert found["problem"]["output"] == "u"


BROKEN = {
    "past": ("damage", r"wrote past the end of y, at y\[4000\]"),
    "past_half": ("damage", r"wrote past the end of g, at g\[4000\]"),
    "before": ("damage", r"wrote before u, at u\[-1\]"),
    "input": ("damage", r"changed its input k\[5\]"),
    "config": ("device", "cudaErrorInvalidConfiguration: "),
    "nowhere": ("device", "cudaErrorIllegalAddress: "),
    "crash": ("crash", ""),
    "exit": ("exit", ""),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_what_a_kernel_breaks_is_named(driver: Driver, fault: str) -> None:
    kind, said = BROKEN[fault]
    problem = driver.check(fault)["problem"]
    assert (problem["kind"], problem["who"], problem["case"]) == (kind, "candidate", "4000")
    assert re.match(said, problem["message"])


def test_a_read_past_an_input_is_seen_where_each_buffer_has_memory_of_its_own(driver: Driver) -> None:
    """It harms nothing, so a check cannot see it; a memcheck asks whether the address belongs to the buffer."""
    assert driver.check("beyond")["problem"] is None
    for command, rc in (("memcheck", 2), ("run", 0)):
        calls = ("1",) if command == "run" else ()
        found = driver.bench(command, driver.kernel("beyond"), *calls, KPD_STANDIN_EXACT="1")
        assert (found.returncode, "cudaErrorIllegalAddress" in found.stderr) == (rc, bool(rc)), found.stderr
    clean = driver.bench("memcheck", driver.kernel(), KPD_STANDIN_EXACT="1")
    assert (clean.returncode, clean.stdout, clean.stderr) == (0, "seen 4000\nseen 1003\n", "")


def test_a_kernel_that_does_not_end_is_ended(driver: Driver) -> None:
    assert driver.check("endless", limit_ms=300)["problem"]["kind"] == "timeout"


ENDS = {"end_crash": ("crash", 6, ""), "end_status": ("exit", 0, "with status 3"), "end_frees": None}


@pytest.mark.parametrize("fault", ENDS)
def test_a_kernel_whose_process_does_not_end_well_is_found_out(driver: Driver, fault: str) -> None:
    """In the destructor of a static; memory of the device may be given back there."""
    problem = driver.report("rtol=1e-6", "repeat", driver.kernel(fault), "no", 40, 20_000)["problem"]
    found = problem and (problem["kind"], problem["signal"], problem["message"])
    assert found == ENDS[fault]
    assert problem is None or problem["when"] == "when its process ends, in destructors or functions of atexit"


def test_it_is_not_where_the_tasks_own_kernel_ends_no_better(driver: Driver) -> None:
    for own, kind in (("end_status", None), ("end_frees", "crash")):
        settings = "rtol=1e-6", f"baseline={driver.kernel(own)}"
        problem = driver.report(*settings, "repeat", driver.kernel("end_crash"), "no", 40, 20_000)["problem"]
        assert (problem and problem["kind"]) == kind


def test_an_object_without_a_task_is_refused(driver: Driver) -> None:
    whole = (driver.folder / "kernel.so").read_bytes()
    (driver.folder / "other.so").write_bytes(whole.replace(b"kpd_task\0", b"kpd_mask\0"))
    problem = driver.report("check", "other.so", 1, 20_000)["problem"]
    assert (problem["kind"], problem["message"]) == ("load", "no kpd_task in the object")


def test_a_report_has_every_batch(driver: Driver) -> None:
    found = driver.time(quads=8)
    assert found["problem"] is None
    assert found["cases"].keys() == {"4000", "6001"}
    for case in found["cases"].values():
        assert case["reps"] >= 1
        assert len(case["a_ns"]) == len(case["b_ns"])
        assert len(case["a_ns"]) in range(6, 17, 2)
        warm = case["warm"]
        assert len(warm["a_ns"]) == len(warm["b_ns"]) == 2 * ((len(case["a_ns"]) // 2 + 3) // 4)
        assert min(*case["a_ns"], *case["b_ns"], *warm["a_ns"], *warm["b_ns"], *case["device_ns"]) > 0
        assert case["synchronises"] == [False, False]
        assert (case["telemetry"] is None) == (shutil.which("nvidia-smi") is None)
        assert case["threads"] == 0


def test_a_launcher_that_waits_for_the_device_is_seen_and_has_no_device_time(driver: Driver) -> None:
    found = driver.time("waits")
    assert found["problem"] is None
    for case in found["cases"].values():
        assert case["synchronises"] == [False, True]
        assert case["device_ns"] is None


FOUND_OUT = {
    "remembers": ("wrong", "timed outputs", ""),
    "stale": ("wrong", "timed outputs", ""),
    "late_value": ("wrong", "timed outputs", ""),
    "late_gap": ("wrong", "timed outputs", ""),
    "late_past": ("damage", "timing", r"wrote past the end of y, at y\[4000\]"),
    "late_input": ("damage", "timing", r"changed its input k\[\d+\]"),
    "late_config": ("device", "timing", "cudaErrorInvalidConfiguration: "),
    "late_nowhere": ("device", "timing", "cudaErrorIllegalAddress: "),
    "late_crash": ("crash", "timing", ""),
    "late_exit": ("exit", "timing", ""),
    "aside": ("device", "timing", "the kernel leaves the device at work for "),
}


@pytest.mark.parametrize("fault", FOUND_OUT)
def test_a_candidate_that_is_right_until_it_is_timed_is_found_out(driver: Driver, fault: str) -> None:
    kind, when, said = FOUND_OUT[fault]
    problem = driver.time(fault)["problem"]
    assert (problem["kind"], problem["who"], problem["when"]) == (kind, "candidate", when)
    assert problem["case"] == "4000"
    assert re.match(said, problem["message"])


def test_a_candidate_that_idles_while_it_is_timed_is_found_out(driver: Driver) -> None:
    """It is right before and after. The first call on each set of buffers is right, so a look may come too early."""
    problems = (driver.time("brief", quads=16)["problem"] for _ in range(4))
    problem = next(problem for problem in problems if problem is not None)
    assert (problem["kind"], problem["who"], problem["when"]) == ("wrong", "candidate", "timed outputs")


def test_calls_that_a_batch_leaves_out_are_found_out(driver: Driver) -> None:
    """One set of buffers by chance is looked at, so a process alone may miss it: some of a few do not."""
    problems = [driver.time("hurries", seed=f"{number}{SEED}"[:16] + "\n")["problem"] for number in range(4)]
    found = [problem for problem in problems if problem is not None]
    assert found
    assert {(problem["kind"], problem["when"]) for problem in found} == {("wrong", "timed outputs")}


def test_an_incumbent_that_is_wrong_is_not_taken_for_the_candidate(driver: Driver) -> None:
    problem = driver.time(incumbent="late_value")["problem"]
    assert (problem["kind"], problem["who"], problem["when"]) == ("wrong", "incumbent", "poisoned outputs after timing")


def test_an_incumbent_that_leaves_work_behind_is_nobodys_fault(driver: Driver) -> None:
    for candidate in ("", "aside"):
        shutil.copy(driver.folder / driver.kernel("aside"), driver.folder / "incumbent.so")
        done = driver.bench("rtol=1e-6", "time", "incumbent.so", driver.kernel(candidate), "a", 4, 20_000)
        assert done.returncode == 2
        assert "kpd driver: the incumbent leaves the device at work for " in done.stderr


def test_a_candidate_that_leaves_a_little_behind_is_found_out(driver: Driver) -> None:
    problem = driver.time("tail")["problem"]
    assert (problem["kind"], problem["who"], problem["when"]) == ("device", "candidate", "timing")
    assert re.match("the kernel leaves the device at work for ", problem["message"])


def test_a_profiled_run_calls_the_timed_cases(driver: Driver) -> None:
    assert driver.bench("run", driver.kernel(), 3, seed="").returncode == 0
    failed = driver.bench("run", driver.kernel("late_nowhere"), 30, seed="")
    assert failed.returncode == 2
    assert "cudaError" in failed.stderr


def test_medians_for_people_are_lines_of_text(driver: Driver) -> None:
    done = driver.bench("timing", driver.kernel(), seed="")
    assert done.returncode == 0
    assert re.fullmatch(r"(KK_TIMING name=(4000|6001) median_us=\d+\.\d{3}\n){2}", done.stdout)


def test_who_asks_for_too_much_or_without_a_seed_is_told(driver: Driver) -> None:
    pair = ("time", driver.kernel(), driver.kernel(), "a")
    assert "quads must be 1 to 256" in driver.bench(*pair, 257, 1000).stderr
    assert "no key on standard input" in driver.bench(*pair, 4, 1000, seed="").stderr
    assert driver.bench(*pair, 257, 1000).returncode == driver.bench("juggle").returncode == 2
