"""Following a job from any byte on, with whatever helper: nothing is missing and nothing comes twice."""

from pathlib import Path

from tests.support.hosts.follow import interrupted


async def test_a_hundred_megabytes_cut_off_in_the_middle(tmp_path: Path) -> None:
    await interrupted(tmp_path, 7)
