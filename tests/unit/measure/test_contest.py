"""Processes until the verdict is settled; a busy machine is said, and measured anew after a while."""

import pytest

from kpd.hosts.errors import HostError
from kpd.measure.contest import MOST, MOST_TAINTED, contest
from kpd.measure.samples import CaseSample, ProcessSample
from tests.support.measure.canned import Canned, ShutDown


async def settle(bench: Canned) -> tuple[ProcessSample, ...]:
    kept: list[tuple[ProcessSample, ...]] = []
    samples = await contest(bench, "a", "b", "r1.1-{}".format, 2.0, print, kept.append)  # type: ignore[arg-type]
    assert [len(taken) for taken in kept] == list(range(1, len(samples) + 1))
    assert kept[-1] == samples
    return samples


async def test_a_clear_gain_needs_its_second_look() -> None:
    bench = Canned()
    assert len(await settle(bench)) == 9
    assert bench.asked == [("r1.1-time0", 0, MOST)]
    assert len(bench.ran["r1.1-time0"]) == 9


async def test_what_is_far_slower_stops_early() -> None:
    assert len(await settle(Canned(candidate_ns=2000))) == 2


async def test_a_restart_reads_what_was_measured_and_no_more_than_the_verdict_needs() -> None:
    bench = Canned()
    first = await settle(bench)
    bench.ran["r1.1-time0"] += [ProcessSample(9, {"case": CaseSample(1, (1, 1), (1, 1))})]
    bench.candidate_ns = 9999
    assert await settle(bench) == first


async def test_what_was_ended_too_early_is_gone_on_with_after_a_restart() -> None:
    bench = Canned(ends_after=4)
    with pytest.raises(ShutDown):
        await settle(bench)
    bench.ends_after = MOST
    samples = await settle(bench)
    assert [sample.process for sample in samples] == list(range(9))
    assert bench.asked[1:] == [("r1.1-time0", 0, MOST), ("r1.1-time1", 4, MOST - 4)]
    assert await settle(bench) == samples


async def test_a_busy_machine_is_said_and_measured_anew() -> None:
    bench = Canned(busy=True)
    said = f"too busy to measure: {MOST_TAINTED + 1} of {MOST_TAINTED + 1} processes were disturbed \\(other work\\)"
    with pytest.raises(HostError, match=said) as caught:
        await settle(bench)
    assert caught.value.kind == "busy"
    assert bench.ran == {}
    bench.busy = False
    assert len(await settle(bench)) == 9


async def test_samples_that_make_no_sense_are_the_hosts_trouble_and_are_measured_anew() -> None:
    bench = Canned(cases=("case", "other"))
    with pytest.raises(HostError, match="timed different cases") as caught:
        await settle(bench)
    assert caught.value.kind == "host"
    assert bench.ran == {}


@pytest.mark.parametrize("audited", [True, False])
@pytest.mark.parametrize("ns", [500, 2000])
async def test_the_job_of_a_contest_goes_on_only_once_it_is_settled_and_audits_follow(audited: bool, ns: int) -> None:
    bench = Canned(candidate_ns=ns)
    asked = list[int]()

    def wanted(samples: tuple[ProcessSample, ...]) -> bool:
        asked.append(len(samples))
        return audited

    def kept(samples: tuple[ProcessSample, ...]) -> None:
        went_on.append(bench.leave())

    went_on = list[bool]()
    samples = await contest(bench, "a", "b", "r1.1-{}".format, 2.0, print, kept, audited=wanted)  # type: ignore[arg-type]
    assert went_on == [False] * (len(samples) - 1) + [audited]
    assert asked == [len(samples)], "of a contest that is not settled nobody is asked"
