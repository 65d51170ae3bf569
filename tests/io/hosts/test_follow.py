"""Following a job from any byte on, with whatever helper: nothing is missing and nothing comes twice."""

import asyncio
import os
from pathlib import Path

import pytest

from kpd.hosts.errors import HostError
from kpd.hosts.helper.wire import KEPT
from tests.support.hosts.follow import interrupted
from tests.support.hosts.local import until
from tests.support.hosts.remote_daemon import Far, far_end


@pytest.fixture
async def far(tmp_path):
    async with far_end(tmp_path / "host") as far:
        yield far


async def test_hello_and_ping_tell_the_hosts_clock(far: Far) -> None:
    first = far.hello["clock"]
    second = (await far.ask("ping"))["clock"]
    assert first <= second


async def test_what_has_ended_is_read_from_any_offset(far: Far, tmp_path: Path) -> None:
    data = os.urandom(300_000)
    (tmp_path / "data").write_bytes(data)
    whole = await far.run("a", f"cat '{tmp_path}/data'; echo bad >&2; exit 3")
    assert whole.out == data and not whole.end["cached"]
    for offset in (0, 1, 123_456, len(data) - 1, len(data), len(data) + 5):
        part = far.follow("a", stdout=offset, stderr=2)
        assert await part.ended() == {**whole.end, "cached": True}
        assert part.out == data[offset:] and part.data["stderr"] == b"d\n"


async def test_a_job_without_a_lease_has_no_notes_no_token_and_no_taint(far: Far) -> None:
    job = await far.run("a", "echo; ls ../a")
    assert (job.end["token"], job.end["taint"], job.notes) == (0, "", [])
    assert b"notes" not in job.out


async def test_an_end_that_an_older_kpd_has_recorded_is_read(far: Far) -> None:
    await far.run("a", "true")
    (far.root / "jobs/a/rc").write_text('{"rc": 5, "reason": "", "seconds": 1.5, "free": 99}'.ljust(256))
    end = await far.follow("a").ended()
    told = {"rc": 5, "reason": "", "seconds": 1.5, "free": 99, "cached": True}
    assert end == {**told, "token": 0, "taint": "", "lease_lost": False}


async def test_a_job_that_the_host_does_not_know(far: Far) -> None:
    for offsets in ({}, {"stdout": 5}):
        with pytest.raises(HostError) as caught:
            await far.follow("nobody", **offsets).ended()
        assert caught.value.kind == "not_found"
    await far.run("a", "true")
    await far.ask("forget", job="a")
    with pytest.raises(HostError) as caught:
        await far.follow("a").ended()
    assert caught.value.kind == "not_found"


async def test_requests_that_make_no_sense_are_refused(far: Far) -> None:
    await far.run("a", "true")
    for request in (far.follow("a", stdout=-1), far.follow("../a"), far.follow("")):
        with pytest.raises(HostError) as caught:
            await request.ended()
        assert caught.value.kind == "refused"
    assert (await far.ask("running"))["jobs"] == []


async def test_many_follow_one_job_each_from_where_it_likes(far: Far) -> None:
    go = far.root / "go"
    script = f"printf 0123456789; while [ ! -e '{go}' ]; do sleep 0.01; done; printf abcdef; echo late >&2"
    first = far.begin("a", script)
    await until(lambda: len(first.out) == 10)
    others = [far.follow("a", stdout=offset) for offset in (0, 4, 10, 13)]
    go.touch()
    ends = [await job.ended() for job in (first, *others)]
    assert [{**end, "cached": None} for end in ends] == [{**ends[0], "cached": None}] * 5, "some may come after its end"
    assert [job.out for job in others] == [b"0123456789abcdef"[offset:] for offset in (0, 4, 10, 13)]


async def test_no_job_has_to_wait_for_another_ones_long_output(far: Far) -> None:
    """The pipe is full all the time with what others follow; a short job comes through long before they are done."""
    await far.run("long", "true")
    os.truncate(far.root / "jobs/long/stdout", KEPT)

    async def read_all() -> int:
        frames = far.link.follow("follow", job="long", offsets={})
        return sum([len(frame.body) async for frame in frames])

    reading = [asyncio.create_task(read_all()) for _ in range(8)]
    await asyncio.sleep(0)
    assert (await far.run("short", "echo 1")).out == b"1\n"
    assert not any(task.done() for task in reading)
    assert await asyncio.gather(*reading) == [KEPT] * 8


async def test_another_helper_goes_on_where_a_killed_one_was_cut_off(tmp_path: Path) -> None:
    await interrupted(tmp_path, 2)


async def test_a_follower_that_falls_far_behind_gets_the_last_of_it(tmp_path: Path) -> None:
    size = 40 << 20
    async with far_end(tmp_path / "host") as far:
        await far.run("a", "true")
        (far.root / "jobs/a/stdout").write_bytes(bytes(size) + b"end")
        frames = [frame async for frame in far.link.follow("follow", job="a", offsets={"stdout": 5})]
        assert frames[0].fields["offset"] == size + 3 - KEPT
        assert sum(len(frame.body) for frame in frames) == KEPT
