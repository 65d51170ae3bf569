"""The script that runs ncu, with a stand-in that leaves recorded reports: what is asked for, and why there is none."""

import os
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from kpd.hosts.job import JobResult
from kpd.measure.bench import LaunchFilter
from kpd.profile.ncu import collect
from kpd.profile.ncu.metrics import asked
from tests.support.patience import PATIENCE_S
from tests.support.profile.ncu_reports import on_path, recorded, stand_in

DENIED = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters"
UNKNOWN = "==ERROR== Failed to access the following 1 metrics: sm__nonsense.sum\n"


def calls(number: int) -> str:
    return f"sh -c 'echo called {number} times >>called'"


def run(folder: Path, script: str, path: str | None = None, **env: str) -> JobResult:
    """As a host runs a job: in a folder with an `out/`."""
    (folder / "out").mkdir(parents=True, exist_ok=True)
    ran = subprocess.run(
        ["/bin/sh", "-c", script], cwd=folder, capture_output=True, timeout=PATIENCE_S,
        env={"PATH": path or os.environ["PATH"], "HOME": str(folder), **env},
    )  # fmt: skip
    return JobResult("job", ran.returncode, ran.stdout, ran.stderr, 1.0)


def options(bin: Path) -> list[list[str]]:
    return [shlex.split(line) for line in (bin / "asked").read_text().splitlines()]


def test_a_report_is_left_with_the_clocks_alone_and_the_lock_in_the_jobs_folder(tmp_path: Path) -> None:
    stand_in(tmp_path / "bin")
    ran = run(tmp_path / "job", collect.script(calls, "sm_90", LaunchFilter()), on_path(tmp_path / "bin"))
    assert collect.refused(ran) == ""
    assert (tmp_path / "job/out/report.ncu-rep").read_bytes() == recorded("baseline.ncu-rep")
    (words,) = options(tmp_path / "bin")
    assert words[words.index("--clock-control") + 1] == "none"
    assert words[words.index("--profile-from-start") + 1] == "off"
    assert "--nvtx" in words
    assert words[words.index("--metrics") + 1].split(",") == list(asked("sm_90"))
    assert [words[at + 1] for at, word in enumerate(words) if word == "--section"] == list(collect.SECTIONS)
    assert (tmp_path / "job/called").read_text() == "called 1 times\n"
    assert (tmp_path / "bin/tmpdir").read_text().strip() == str(tmp_path / "job/tmp")


def test_kernels_by_name_and_everything_that_ncu_has(tmp_path: Path) -> None:
    stand_in(tmp_path / "bin")
    launches = LaunchFilter("rms.*|it's", marked=False, most=5)
    run(tmp_path / "job", collect.script(calls, "sm_90", launches, "full"), on_path(tmp_path / "bin"))
    said = (tmp_path / "bin/asked").read_text()
    assert "--set full" in said
    assert "--section" not in said
    assert "--profile-from-start" not in said
    assert "--kernel-name regex:rms.*|it's --launch-count 5" in said
    assert "--metrics gpu__time_duration.sum," in said


def test_the_pages_are_exported_for_who_cannot_read_a_report(tmp_path: Path) -> None:
    stand_in(tmp_path / "bin")
    ran = run(tmp_path / "job", collect.script(calls, "sm_90", LaunchFilter(), export=True), on_path(tmp_path / "bin"))
    assert collect.refused(ran) == ""
    for page in ("raw", "details"):
        assert (tmp_path / f"job/out/{page}.csv").read_bytes() == recorded(f"baseline.{page}.csv")


def test_a_metric_that_this_version_lacks_costs_a_second_try_without_the_list(tmp_path: Path) -> None:
    stand_in(tmp_path / "bin", refusal=UNKNOWN, once=True)
    ran = run(tmp_path / "job", collect.script(calls, "sm_90", LaunchFilter()), on_path(tmp_path / "bin"))
    assert collect.refused(ran) == ""
    first, second = options(tmp_path / "bin")
    assert "--metrics" in first
    assert "--metrics" not in second
    assert "--section" in second


def test_the_ncu_that_the_host_names_goes_before_the_one_on_the_path(tmp_path: Path) -> None:
    stand_in(tmp_path / "bin", refusal=DENIED)
    named = stand_in(tmp_path / "named place")
    script = collect.script(calls, "sm_90", LaunchFilter())
    assert collect.refused(run(tmp_path / "job", script, on_path(tmp_path / "bin"), KPD_NCU=str(named))) == ""


@pytest.mark.parametrize(
    ("refusal", "words", "remedy", "runs"),
    [
        (DENIED, "denied the GPU's counters", "NVreg_RestrictProfilingToAdminUsers=0", 1),
        ("==ERROR== An error was reported by the driver:\n\nProfiling failed because a driver resource was unavailable",
         "another profiler uses the GPU's counters", "dcgmi profile --pause", 1),
        ("==WARNING== No kernels were profiled.", "saw no kernel launch", "harness", 1),
        (UNKNOWN, "no report: Failed to access the following 1 metrics: sm__nonsense.sum", "", 2),
        ("==PROF== Connected\n==ERROR== The application returned an error code (3).\nbye",
         "no report: The application returned an error code (3).", "", 1),
        ("Segmentation fault", "no report: Segmentation fault", "", 1),
    ],
)  # fmt: skip
def test_why_there_is_no_report(tmp_path: Path, refusal: str, words: str, remedy: str, runs: int) -> None:
    stand_in(tmp_path / "bin", refusal=refusal)
    ran = run(tmp_path / "job", collect.script(calls, "sm_90", LaunchFilter()), on_path(tmp_path / "bin"))
    reason = collect.refused(ran)
    assert words in reason
    assert remedy in reason
    assert len(options(tmp_path / "bin")) == runs


def test_no_ncu_and_no_time() -> None:
    ran = JobResult("job", collect.NO_NCU, b"", b"", 0.1)
    assert "install Nsight Compute" in collect.refused(ran)
    cut = collect.refused(replace(ran, rc=-9, reason="timeout", seconds=300.0))
    assert cut == "ncu was cut off (timeout) after 300 s; [profile] limit_s in task.toml is the limit"
    greedy = collect.refused(replace(ran, rc=-9, reason="memory"))
    assert greedy == "ncu and the kernel took more than 1/2 of the host's memory"
    assert collect.refused(replace(ran, rc=collect.NO_REPORT)) == "ncu leaves no report: it ended with 92"
