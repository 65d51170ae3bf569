"""How a job's program ended."""

from typing import Literal

import pytest

from kpd.hosts.host import JobResult
from kpd.measure import jobs
from kpd.measure.driver.harness import BadHarness, described


def ended(rc: int, reason: Literal["", "killed"] = "") -> JobResult:
    return JobResult("a", rc, b"", b"", 0.1, reason)


@pytest.mark.parametrize(
    ("rc", "signal"),
    [
        (-11, "SIGSEGV"), (139, "SIGSEGV"), (-8, "SIGFPE"), (134, "SIGABRT"),
        (-9, ""), (-15, ""), (143, ""), (0, ""), (1, ""), (2, ""), (11, ""), (128, ""),
    ],
)  # fmt: skip
def test_a_crash_is_told_from_an_exit_and_from_a_kill(rc: int, signal: str) -> None:
    assert jobs.crash(ended(rc)) == signal


def test_a_program_that_was_ended_for_a_reason_did_not_crash() -> None:
    assert jobs.crash(ended(-11, "killed")) == ""


def test_a_harness_that_crashes_before_any_kernel_runs_is_named() -> None:
    with pytest.raises(BadHarness, match=r"^harness\.cu: it crashes while it describes its cases \(SIGSEGV\)$"):
        described("bench", ended(139), "harness.cu")
