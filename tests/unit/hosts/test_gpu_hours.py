"""GPU hours of allocations, and the time of one as sbatch reads it."""

from dataclasses import replace
from pathlib import Path

import pytest

from kpd.hosts.errors import HostError
from kpd.hosts.gpu_hours import DAY_S, GpuHours, Lent, total
from kpd.hosts.slurm.keys import SlurmKeys, gpus_of

NOON = 20_000 * DAY_S + DAY_S / 2
LENT = Lent("c", "7", "me", "kernels", 2, begun=NOON - DAY_S / 2 - 3600, ends=NOON + DAY_S)
"""Two GPUs, since one hour before midnight."""


def test_an_allocation_counts_until_its_end_or_where_nobody_saw_that_until_its_limit() -> None:
    assert LENT.hours(NOON) == 2 * 13 and LENT.hours(NOON + 9 * DAY_S) == 2 * 37
    assert Lent("c", "7", "", "", 2, NOON, NOON + DAY_S, ended=NOON + 1800).hours(NOON + DAY_S) == 1
    assert total([LENT, LENT], NOON, since=NOON - DAY_S / 2) == 2 * 2 * 12


def test_a_file_keeps_them_and_a_line_that_a_crash_cut_off_is_left_out(tmp_path: Path) -> None:
    hours = GpuHours(tmp_path / "new" / "file")
    assert hours.read() == [] and hours.today("c", NOON) == 0
    hours.note(LENT)
    (tmp_path / "new" / "file").open("a").write('{"host": "c", "jo')
    assert hours.open("c") == ["7"] and hours.open("d") == [] and hours.today("c", NOON) == 24
    hours.end("c", "8", NOON)
    hours.end("c", "7", NOON - 3600)
    assert hours.open("c") == [] and hours.today("c", NOON) == 22
    hours.end("c", "7", NOON)
    assert hours.today("c", NOON) == 22, "the end that was noted first counts"


def test_allocations_of_one_table_count_together_with_what_others_may_still_use(tmp_path: Path) -> None:
    hours = GpuHours(tmp_path / "file")
    hours.note(LENT)
    hours.note(replace(LENT, host="c.2", job="8", table="c", begun=NOON - 3600, ends=NOON + 7200))
    hours.note(replace(LENT, host="d"))
    assert hours.today("c", NOON) == 24 + 2 and hours.today("c.2", NOON) == 0
    assert hours.due("c", "c", NOON) == 4 and hours.due("c", "c.2", NOON) == 48
    hours.end("c.2", "8", NOON)
    assert hours.due("c", "c", NOON) == 0


def test_a_file_that_cannot_be_kept_is_told_with_what_helps(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    for use in (lambda hours: hours.note(LENT), lambda hours: hours.today("c", NOON)):
        with pytest.raises(HostError, match="cannot be kept") as caught:
            use(GpuHours(tmp_path / "file"))
        assert "kpd can read and write" in caught.value.remedy


@pytest.mark.parametrize(
    ("gres", "gpus"),
    [("", 0), ("gpu", 1), ("gpu:2", 2), ("gpu:h100", 1), ("gpu:h100:4", 4), ("gpu:1,nic:2", 1), ("gpu:2(S:0-1)", 2)],
)
def test_gpus_are_counted_as_slurm_reads_them(gres: str, gpus: int) -> None:
    assert gpus_of(gres) == gpus


@pytest.mark.parametrize(
    ("time", "seconds"),
    [("10", 600), ("10:30", 630), ("4:00:00", 14_400), ("1-0", 86_400), ("1-2", 93_600), ("1-2:03", 93_780),
     ("2-01:02:03", 176_523)],
)  # fmt: skip
def test_a_time_is_read_as_sbatch_reads_it(time: str, seconds: float) -> None:
    assert SlurmKeys(time).time_s == seconds


@pytest.mark.parametrize(("most_s", "asked"), [(600, "--time=10:00"), (599, "--time=9"), (300, "--time=5")])
def test_no_more_time_is_asked_for_than_the_day_has_left(most_s: float, asked: str) -> None:
    assert asked in SlurmKeys("10:00").options("name", most_s)
