"""A far-away host costs little: what an iteration asks of it, counted at the pipe."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kpd.engine.attempt import CandidateFailed
from kpd.hosts.errors import HostError
from kpd.measure.c.bench import prepare
from kpd.measure.contest import contest
from tests.support.hosts.remote_part import remote_part
from tests.support.measure.measured import THIS_CPU
from tests.support.measure.round_trips import Far, _far, taking

__all__ = ["_far"]

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_slower_candidate_takes_five_round_trips(far: Far) -> None:
    asked, verdict = await far.iterate(taking(16))
    assert asked == ["tree", "job", "job", "job", "kill"]
    assert verdict.word == "slower"


async def test_a_candidate_without_a_gain_takes_five_round_trips_however_many_looks(far: Far) -> None:
    asked, verdict = await far.iterate(taking(4, "the same"))
    assert asked == ["tree", "job", "job", "job", "kill"]
    assert not verdict.accepted


async def test_a_wrong_candidate_takes_three_round_trips(far: Far) -> None:
    at = far.run.attempt({"kernel.c": taking(0)})
    with far.pipe.waited_for() as asked, pytest.raises(CandidateFailed) as caught:
        await remote_part(at)
    assert caught.value.what.name == "incorrect"
    assert asked == ["tree", "job", "job"]


async def test_a_candidate_that_was_there_before_needs_no_build(far: Far) -> None:
    files = {"kernel.c": taking(2)}
    first = await far.bench.build(await far.bench.stage(files), files, print)
    with far.pipe.waited_for() as asked:
        again = await far.bench.build(await far.bench.stage(files), files, print)
    assert asked == []
    assert (first.job, first.cached, again.cached) == (again.job, False, True)


async def test_what_is_gone_on_the_host_is_staged_and_built_again(far: Far) -> None:
    files = {"kernel.c": taking(3)}
    for asks in (lambda job: far.bench.check(job, "gone", print), far.bench.listing):
        built = await far.bench.build(await far.bench.stage(files), files, print)
        remove(far.at("jobs", built.job, "out"))
        with pytest.raises(HostError) as caught:
            await asks(built.job)
        assert caught.value.kind == "not_found"
        with far.pipe.waited_for() as asked:
            anew = await far.bench.build(await far.bench.stage(files), files, print)
        assert asked == ["tree", "job"]
        assert (anew.job, anew.cached) == (built.job, False)
    await far.bench.check(anew.job, "there", print)


async def test_what_measures_candidates_is_there_again_once_it_is_prepared(far: Far) -> None:
    """Somebody has changed the driver, or removed it, before a job would use it."""
    files = {"kernel.c": taking(1)}
    for spoil, kind in ((tamper, "stale"), (Path.unlink, "not_found")):
        built = await far.bench.build(await far.bench.stage(files), files, print)
        spoil(Path(far.bench.harness.program))
        with pytest.raises(HostError) as caught:
            await far.bench.check(built.job, f"spoilt-{kind}", print)
        assert caught.value.kind == kind
        bench = await prepare(far.host, far.bench.task, THIS_CPU, print)
        again = await bench.build(await bench.stage(files), files, print)
        assert (await bench.check(again.job, f"mended-{kind}", print)).worst < 1


async def test_a_tree_that_is_gone_is_staged_again(far: Far) -> None:
    files = {"kernel.c": taking(7)}
    tree = await far.bench.stage(files)
    remove(far.at("trees", tree))
    with pytest.raises(HostError, match="gone"):
        await far.bench.build(tree, files, print)
    assert (await far.bench.build(await far.bench.stage(files), files, print)).warnings == 0


async def test_a_tree_is_looked_at_again_once_a_candidate_could_have_changed_it(far: Far) -> None:
    """Candidates run as the user whose the trees are: what is built must be what was proposed."""
    files, other = {"kernel.c": taking(5)}, {"kernel.c": taking(1)}
    source = far.at("trees", await far.bench.stage(files), "kernel.c")
    built = await far.bench.build(await far.bench.stage(other), other, print)
    await far.bench.check(built.job, "tampers", print)
    tamper(source)
    await far.bench.stage(files)
    assert source.read_bytes() == files["kernel.c"]


def remove(folder: Path) -> None:
    folder.chmod(0o755)
    shutil.rmtree(folder)


def tamper(file: Path) -> None:
    file.parent.chmod(0o755)
    file.chmod(0o644)
    file.write_text("/* nothing */")


async def test_nothing_is_taken_for_granted_after_the_link_was_lost(far: Far) -> None:
    files = {"kernel.c": taking(6)}
    await far.bench.build(await far.bench.stage(files), files, print)
    await far.host.renew()
    await far.host.running()
    with far.pipe.waited_for() as asked:
        again = await far.bench.build(await far.bench.stage(files), files, print)
    assert asked == ["tree", "job"]
    assert again.cached


async def test_a_contest_that_was_given_up_ends_its_job_and_is_begun_anew(far: Far, tmp_path: Path) -> None:
    driver = tmp_path / "driver"
    times = '"reps":1,"a_ns":[2,2],"b_ns":[2,2],"steal_ticks":0,"threads":1,"lost_ns":4'
    driver.write_text(f'#!/bin/sh\necho \'{{"cases":{{"c":{{{times}}}}},"problem":null}}\'\n')
    driver.chmod(0o755)
    files = {"kernel.c": taking(1)}
    built = (await far.bench.build(await far.bench.stage(files), files, print)).job
    tells, far.bench.harness = far.bench.harness, replace(far.bench.harness, program=str(driver))
    try:
        for _ in range(2):
            with pytest.raises(HostError, match="too busy to measure: 16 of 16 processes were disturbed") as caught:
                await contest(far.bench, built, built, "{}-of-a-busy-host".format, 2.0, print, lambda samples: None)
            assert caught.value.kind == "busy"
            assert not far.at("jobs", "time0-of-a-busy-host").exists()
    finally:
        far.bench.harness = tells


async def test_a_listing_is_read_at_once(far: Far) -> None:
    files = {"kernel.c": taking(1)}
    built = await far.bench.build(await far.bench.stage(files), files, print)
    with far.pipe.waited_for() as asked:
        listing = await far.bench.listing(built.job)
    assert asked == ["read", "read"]
    assert "blend" in listing.assembly
