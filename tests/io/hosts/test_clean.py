"""Cleaning: what is old goes, then the least recently used until the rest fits; nothing that a running job may use."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

import psutil
import pytest

from kpd.hosts.errors import HostError
from tests.support.hosts.clean import EVER, MAKE_MANY, NOTHING, far, names, stopped
from tests.support.hosts.local import linux_only, until
from tests.support.hosts.remote_daemon import Far, far_end

__all__ = ["far"]

BIG = 1 << 20
WAIT = "while [ ! -e go ]; do sleep 0.01; done\n"


def used(path: Path, hours_ago: float) -> None:
    """As if it had last been used then."""
    at = path.stat().st_mtime - hours_ago * 3600
    os.utime(path, (at, at))


def go(far: Far, job: str) -> None:
    (far.root / "jobs" / job / "go").touch()


async def tree(far: Far, data: bytes) -> str:
    sha = hashlib.sha256(data).hexdigest()
    reply = await far.ask("tree", data, files={"f": sha}, blobs=[(sha, len(data))])
    return str(reply["digest"])


async def jobs(far: Far, ids: Iterable[str]) -> None:
    """Each takes a megabyte; the first is the one that was used last."""
    for hours, id in enumerate(ids):
        assert (await far.run(id, f"head -c {BIG} /dev/urandom > out/data")).end["rc"] == 0
        used(far.root / "jobs" / id, hours)


async def test_the_least_recently_used_go_until_the_rest_fits(far: Far) -> None:
    await jobs(far, "abcde")
    await far.ask("clean", older_than_s=EVER, keep_bytes=100 * BIG)
    assert names(far, "jobs") == list("abcde")
    await far.ask("clean", older_than_s=EVER, keep_bytes=3 * BIG + BIG // 2)
    assert names(far, "jobs") == list("abc")
    await far.ask("clean", older_than_s=EVER, keep_bytes=3 * BIG + BIG // 2)
    assert names(far, "jobs") == list("abc")
    await far.ask("clean", older_than_s=EVER, keep_bytes=NOTHING)
    assert names(far, "jobs", "tmp") == []


async def test_without_a_size_only_age_counts(far: Far) -> None:
    await jobs(far, "ab")
    await far.ask("clean", older_than_s=1800)
    assert names(far, "jobs") == ["a"]


async def test_age_comes_before_size(far: Far) -> None:
    await jobs(far, "abc")
    await far.ask("clean", older_than_s=5400, keep_bytes=100 * BIG)
    assert names(far, "jobs") == ["a", "b"]


async def test_content_and_jobs_are_weighed_together(far: Far) -> None:
    old, new = await tree(far, os.urandom(BIG)), await tree(far, os.urandom(BIG))
    await jobs(far, "a")
    used(far.root / "jobs/a", 2)
    for kind in ("trees", "blobs"):
        for path in (far.root / kind).iterdir():
            used(path, 1)
    used(far.root / "trees" / old, 2)
    await far.ask("clean", older_than_s=EVER, keep_bytes=3 * BIG + BIG // 2)
    assert names(far, "trees") == [new] and names(far, "jobs") == [] and len(names(far, "blobs")) == 2
    await far.ask("clean", older_than_s=EVER, keep_bytes=NOTHING)
    assert names(far, "trees", "blobs", "jobs", "tmp") == []


async def test_what_is_asked_for_again_is_in_use(far: Far) -> None:
    await jobs(far, "abc")
    digest = await tree(far, os.urandom(BIG))
    for id in "abc":
        used(far.root / "jobs" / id, 5)
    used(far.root / "trees" / digest, 5)
    assert (await far.run("a", "asked for, not run")).end["cached"]
    assert (await far.follow("b").ended())["cached"]
    assert (await far.run("d", f"cat '{far.root}/trees/{digest}/f' '{far.root}'/jobs/c/out/data > out/x")).end[
        "rc"
    ] == 0
    await far.ask("clean", older_than_s=3600)
    assert names(far, "jobs") == ["a", "b", "c", "d"] and names(far, "trees") == [digest]


async def test_a_running_job_keeps_itself_and_what_was_made_for_it(far: Far) -> None:
    digest = await tree(far, os.urandom(BIG))
    unnamed = await tree(far, os.urandom(BIG))  # a later job of the same measurement may use it
    old = await tree(far, os.urandom(BIG))
    await jobs(far, "ab")
    used(far.root / "jobs/a", 3)
    used(far.root / "trees" / old, 3)
    running = far.begin("c", f"head -c {BIG} /dev/urandom > out/data; echo; {WAIT} cat '{far.root}/trees/{digest}/f'")
    await until(lambda: running.out != b"")
    used(far.root / "jobs/c", 50)
    used(far.root / "jobs/b", 0.1)
    await far.ask("clean", older_than_s=-1, keep_bytes=NOTHING)
    assert names(far, "jobs") == ["c"] and names(far, "trees") == sorted([digest, unnamed])
    await far.run("d", "true")
    await far.ask("clean", older_than_s=EVER, keep_bytes=NOTHING)
    assert names(far, "jobs") == ["c", "d"]  # newer than the one that runs, which may wait for it
    go(far, "c")
    assert (await running.ended())["rc"] == 0
    assert (far.root / "jobs/c/out/data").stat().st_size == BIG
    await far.ask("clean", older_than_s=-1)
    assert names(far, "jobs", "trees", "blobs", "tmp") == []


async def test_a_job_that_another_helper_has_started_runs_too(tmp_path: Path, far: Far) -> None:
    async with far_end(far.root) as other:
        running = other.begin("a", f"echo; {WAIT}")
        await until(lambda: running.out != b"")
        await far.ask("clean", older_than_s=-1, keep_bytes=NOTHING)
        assert names(far, "jobs") == ["a"]
        go(far, "a")
        assert (await running.ended())["rc"] == 0


async def test_read_only_folders_go_too_and_links_are_not_followed(tmp_path: Path, far: Far) -> None:
    (tmp_path / "kept").write_text("kept")
    script = f"mkdir out/d; echo x > out/d/x; chmod 500 out/d out; ln -s {tmp_path} link; ln -s nowhere dangling"
    assert (await far.run("a", script)).end["rc"] == 0
    out = far.root / "jobs" / "a" / "out"
    await until(lambda: {path.stat().st_mode & 0o777 for path in (out, out / "d")} == {0o700})  # `rm -rf` works, too
    out.chmod(0o500)
    await far.ask("clean", older_than_s=EVER, keep_bytes=NOTHING)
    assert names(far, "jobs", "tmp") == []
    assert (tmp_path / "kept").read_text() == "kept"


async def test_an_interrupted_helpers_remains_go_by_age(far: Far) -> None:
    (far.root / "tmp/1-2-3").mkdir()
    (far.root / "tmp/1-2-4").write_text("half a blob")
    await far.ask("clean", older_than_s=3600, keep_bytes=NOTHING)
    assert names(far, "tmp") == ["1-2-3", "1-2-4"]
    used(far.root / "tmp/1-2-3", 2)
    used(far.root / "tmp/1-2-4", 2)
    await far.ask("clean", older_than_s=3600)
    assert names(far, "tmp") == []


async def test_the_helper_answers_while_it_cleans_and_what_is_used_meanwhile_stays(far: Far) -> None:
    named, old = await tree(far, b"named"), await tree(far, b"old")
    await far.run("old", MAKE_MANY)
    for path in (far.root / "trees" / named, far.root / "trees" / old, far.root / "jobs/old"):
        used(path, 3)
    async with stopped(far) as (_, cleaning):
        await far.ask("ping")
        fresh = await tree(far, b"fresh")
        running = far.begin("new", f"echo; {WAIT} cat '{far.root}/trees/{named}/f'")
        await until(lambda: running.out != b"")
        assert not cleaning.done()
    await cleaning
    assert names(far, "jobs", "tmp") == ["new"] and names(far, "trees") == sorted([named, fresh])
    go(far, "new")
    assert (await running.ended())["rc"] == 0 and running.out == b"\nnamed"


async def test_a_running_job_that_has_removed_its_script_keeps_everything(far: Far) -> None:
    digest = await tree(far, b"content")
    used(far.root / "trees" / digest, 50)
    running = far.begin("a", f"rm cmd; echo; {WAIT}")
    await until(lambda: running.out != b"")
    await far.ask("clean", older_than_s=-1, keep_bytes=NOTHING)
    assert names(far, "jobs", "trees") == sorted(["a", digest])
    go(far, "a")
    await running.ended()


async def test_a_cleaning_that_is_killed_says_so_and_the_next_one_works(far: Far) -> None:
    await far.run("a", MAKE_MANY)
    async with stopped(far) as (cleaner, cleaning):
        cleaner.kill()
        with pytest.raises(HostError, match="the cleaning was killed") as caught:
            await cleaning
    assert caught.value.kind == "host"
    await far.ask("clean", older_than_s=EVER, keep_bytes=NOTHING)
    assert names(far, "jobs") == []


@linux_only
async def test_a_cleaning_ends_with_its_helper(far: Far) -> None:
    await far.run("a", MAKE_MANY)
    async with stopped(far) as (cleaner, cleaning):
        psutil.Process(far.pid).kill()
        with pytest.raises(HostError):
            await cleaning
        await until(lambda: not cleaner.is_running() or cleaner.status() == psutil.STATUS_ZOMBIE)
