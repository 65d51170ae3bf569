"""What Slurm is asked, and how its answers are read."""

from pathlib import PurePosixPath

import pytest

from kpd.hosts.job import fits
from kpd.hosts.slurm import queue
from kpd.hosts.slurm.keys import SlurmKeys
from kpd.hosts.slurm.queue import Allocation, allocations, how_it_ended, next_try_s, refusal

RUNNING = "12|RUNNING|None|1000|4600|1:00:00|n1|gpu|gres:gpu:h100:1|kernels|me"
PENDING = "13|PENDING|Priority|2000|5600|2-01:00:00||gpu|N/A|(null)|me"


def test_a_job_is_read_as_squeue_prints_it() -> None:
    runs = Allocation("12", "running", "None", 1000.0, 4600.0, 3600.0, "n1", "gpu", "gres:gpu:h100:1", "kernels", "me")
    waits = Allocation("13", "pending", "Priority", 2000.0, 5600.0, 176_400.0, "", "gpu", "", "", "me")
    assert allocations(RUNNING + "\n") == [runs] and allocations(PENDING) == [waits]
    assert allocations("\n") == []


def test_a_submitted_job_comes_before_the_list() -> None:
    assert queue.submitted(RUNNING) == "" and queue.submitted("12\n" + RUNNING) == queue.submitted("12;c\n") == "12"
    assert allocations("12;c\n" + RUNNING) == allocations(RUNNING) and allocations("12\n") == []


def test_a_time_that_slurm_does_not_know_is_none() -> None:
    (found,) = allocations("13|PENDING|Resources|N/A|N/A|UNLIMITED||gpu|N/A|a|me")
    assert (found.begins, found.ends, found.limit_s) == (None, None, None)


def test_of_two_jobs_of_the_name_the_older_one_comes_first() -> None:
    found = allocations(RUNNING + "\n9|PENDING|Priority|N/A|N/A|1:00||gpu||a|me")
    assert [one.job for one in found] == ["9", "12"]


def test_jobs_that_end_at_once_are_asked_for_ever_more_seldom() -> None:
    assert [next_try_s(count) for count in (1, 2, 3, 6, 7, 99)] == [60, 120, 240, 1920, 3600, 3600]


@pytest.mark.parametrize(
    "line", ["oops", RUNNING.replace("12|", "1;rm|"), RUNNING.replace("n1", "$(rm)"), RUNNING + "|x"]
)
def test_a_strange_line_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="strange"):
        allocations(line)


@pytest.mark.parametrize(
    ("rc", "words", "kind", "helps"),
    [
        (queue.NO_COMMAND, "", "config", "`bin`"),
        (queue.NO_SUBMISSION, "Invalid partition name specified", "config", "sinfo -s"),
        (queue.NO_SUBMISSION, "Invalid account or account/partition combination specified", "config", "`account`"),
        (queue.NO_SUBMISSION, "Invalid qos specification", "config", "`qos`"),
        (queue.NO_SUBMISSION, "Requested node configuration is not available", "config", "`gres`"),
        (queue.NO_SUBMISSION, "Invalid generic resource (gres) specification", "config", "`gres`"),
        (queue.NO_SUBMISSION, "Job violates accounting/QOS policy (job submit limit)", "config", "ask for less"),
        (queue.NO_SUBMISSION, "Socket timed out on send/recv operation", "unreachable", "keeps trying"),
        (queue.NO_QUEUE, "slurm_load_jobs error: Connection reset by peer", "unreachable", "keeps trying"),
        (queue.NO_QUEUE, "fatal: Could not establish a configuration source", "config", "config.toml"),
        (None, "", "unreachable", "keeps trying"),
    ],
)
def test_what_slurm_refuses_is_told_with_a_remedy(rc: int | None, words: str, kind: str, helps: str) -> None:
    error = refusal("cluster", rc, words)
    assert error.kind == kind and helps in error.remedy and error.message.startswith("cluster: ")


def test_the_end_of_a_job_is_slurms_word() -> None:
    assert how_it_ended("JobId=3 JobState=TIMEOUT Reason=TimeLimit ExitCode=0:0") == "TIMEOUT"
    assert how_it_ended("JobId=3 JobState=FAILED ExitCode=127:0") == "FAILED 127:0"
    assert queue.when_it_ended("StartTime=1764204000 EndTime=1764205000 Deadline=N/A") == 1764205000
    assert queue.when_it_ended("EndTime=Unknown") is None
    assert how_it_ended("slurm_load_jobs error: Invalid job id specified") == ""


def test_a_job_is_only_submitted_where_none_is_listed() -> None:
    keys = SlurmKeys("10", partition="gpu", gres="gpu:1")
    script = queue.asking(keys, "kpd-1-c", "python3", 60.0, PurePosixPath("/r"))
    assert "--dependency=singleton" in script, "a second guard: should two be submitted, one of them runs"
    before, submits = script.index('if [ -z "$there" ]'), script.index("sbatch --parsable")
    assert before < submits and "--partition=gpu" in script and "--gres=gpu:1" in script and "--account" not in script


@pytest.mark.parametrize(
    ("limit", "left", "may"), [(60, 60, True), (60, 59.9, False), (900, 500, True), (900, 499.9, False)]
)
def test_work_fits_by_its_limit_or_into_the_first_half(limit: float, left: float, may: bool) -> None:
    assert fits(limit, left, whole_s=1000.0) is may


@pytest.mark.parametrize(
    ("reason", "helps"),
    [
        ("PartitionConfig", "`cpus`"),
        ("AssocGrpGRESMinutes", "hours are used up"),
        ("QOSGrpCPUMinutesLimit", "hours are used up"),
        ("QOSMaxGRESPerJob", "ask for less"),
        ("AssocMaxCpuPerJobLimit", "ask for less"),
        ("QOSMaxGRESPerUser", "`gres`"),
        ("Resources", ""),
        ("Priority", ""),
        ("QOSMaxJobsPerUserLimit", ""),
        ("AssocGrpGRES", ""),
    ],
)
def test_only_a_limit_that_time_does_not_lift_is_an_error(reason: str, helps: str) -> None:
    assert helps in queue.remedy_of(reason) and bool(queue.remedy_of(reason)) is bool(helps)
