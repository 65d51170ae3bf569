"""Batches until the verdict is settled; a busy machine is said, and measured anew after `resume`."""

from dataclasses import dataclass, field

import pytest

from kpd.hosts.errors import HostError
from kpd.measure.contest import MOST_TAINTED, contest
from kpd.measure.samples import CaseSample, ProcessSample


@dataclass
class Canned:
    """A bench whose candidate takes `candidate_ns` against 1000, disturbed in every process while `busy`.

    As a host does, it answers a job that it has run before with what that job found.
    """

    candidate_ns: int = 500
    busy: bool = False
    ran: dict[str, tuple[ProcessSample, ...]] = field(default_factory=dict)

    async def time(self, incumbent, candidate, job, first, processes, say):  # type: ignore[no-untyped-def]
        if job not in self.ran:
            case = CaseSample(1, (1000, 1001), (self.candidate_ns, self.candidate_ns + 1))
            taint = "other work" if self.busy else ""
            numbers = range(first, first + processes)
            self.ran[job] = tuple(ProcessSample(number, {"case": case}, taint) for number in numbers)
        return self.ran[job]

    async def forget(self, job: str) -> None:
        self.ran.pop(job, None)


async def settle(bench: Canned) -> tuple[ProcessSample, ...]:
    kept: list[int] = []
    samples = await contest(bench, "a", "b", "r1.1-{}".format, 2.0, print, lambda taken: kept.append(len(taken)))  # type: ignore[arg-type]
    assert kept == sorted(kept)
    assert kept[-1] == len(samples)
    return samples


async def test_a_clear_gain_needs_its_second_look() -> None:
    bench = Canned()
    assert len(await settle(bench)) == 7
    assert list(bench.ran) == ["r1.1-time0", "r1.1-time1", "r1.1-time2"]


async def test_what_is_clearly_slower_stops_early() -> None:
    assert len(await settle(Canned(candidate_ns=2000))) == 3


async def test_a_restart_reads_the_batches_that_were_finished() -> None:
    bench = Canned()
    first = await settle(bench)
    bench.candidate_ns = 9999
    assert await settle(bench) == first


async def test_a_busy_machine_is_said_and_measured_anew() -> None:
    bench = Canned(busy=True)
    with pytest.raises(HostError, match=f"too busy to measure: {MOST_TAINTED + 3} of {MOST_TAINTED + 3} processes"):
        await settle(bench)
    bench.busy = False
    assert len(await settle(bench)) == 7
