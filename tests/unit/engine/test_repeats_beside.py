"""Repeats and the first audit at the same time: what is told of them, and what becomes of the other one's job."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kpd.engine.attempt import Attempt, CandidateFailed
from kpd.engine.audits import Winner, all_hold
from kpd.hosts.errors import HostError
from kpd.measure.audit_time import MOST_S
from kpd.measure.audits import SMALL_PCT, AuditSamples
from kpd.measure.bench import BuiltObject, CheckFailed, Fresh
from kpd.measure.fresh_cases import FreshCase, Rows
from kpd.measure.samples import Batches, CaseSample, ProcessSample
from kpd.model.defects import Complaint, WrongResult
from kpd.model.faults import GainNotHeld, GainUnconfirmed, Incorrect, IncorrectTimed
from kpd.model.verdicts import Gain, Verdict
from tests.support.patience import PATIENCE_S

CASE = CaseSample(1, (900, 900), (400, 400))
CONTEST = tuple(ProcessSample(number, {"one": CASE}) for number in range(9))
FRESH = {"one": FreshCase(1, 4, True, (900,) * 40, (400,) * 40)}
ALONE = tuple(ProcessSample(n, {"one": CaseSample(1, *2 * (((900, 400)[n % 2],) * 2,))}) for n in range(6))
UNSURE = tuple(ProcessSample(n, {"one": CaseSample(1, *2 * ((900,) * 2,))}) for n in range(6))
FOUND = AuditSamples(FRESH, ALONE, 0.5, 0.4)
NOTHING = {"one": FreshCase(1, 4, True, *((900,) * 40,) * 4, a_passed_ns=(960,) * 40, b_passed_ns=(960,) * 40)}
ACCEPTED = Verdict("faster", Gain(55.0, 54.0, 56.0), 9, False, "accepted", 1.0)
OWN, AUDITS = WrongResult(Complaint("it differs")), WrongResult(Complaint("it is wrong while timed"))


Takes = Callable[["Place"], Awaitable[None]]


@dataclass
class Place:
    """A bench that notes what it is asked, and whose jobs end as a test wants it."""

    repeats: Takes
    audits: Takes
    repeats_beside: bool = True
    found: AuditSamples = FOUND
    noted: list[str] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    alone: list[int] = field(default_factory=list)
    rows: list[bool] = field(default_factory=list)
    begun: dict[str, asyncio.Event] = field(default_factory=dict)

    def event(self, what: str) -> asyncio.Event:
        return self.begun.setdefault(what, asyncio.Event())

    @asynccontextmanager
    async def job(self, what: str) -> AsyncIterator[None]:
        self.noted.append(f"{what} begins")
        self.event(what).set()
        try:
            yield
        except asyncio.CancelledError:
            self.noted.append(f"{what} is ended")
            raise
        self.noted.append(f"{what} is over")

    async def repeat(self, built: str, job: str, say: object, incumbent: str | None) -> dict[str, int]:
        async with self.job(job):
            await self.repeats(self)
        return {"one": 9}

    async def audit(
        self, incumbent: str, candidate: str, job: str, say: object, alone: int, fresh: Fresh | None, times: int,
        rows: bool,
    ) -> AuditSamples:  # fmt: skip
        self.times.append(times)
        self.alone.append(alone)
        self.rows.append(rows)
        async with self.job(job):
            await asyncio.sleep(0)
            self.noted.append("fresh inputs are timed")
            if fresh is not None:
                fresh()
            await self.audits(self)
        return replace(self.found, times=times)

    async def forget(self, job: str) -> None:
        self.noted.append(f"{job} is forgotten")

    async def final(self, *given: object) -> None:
        """Nothing is held out."""


def winner(bench: Place) -> Winner:
    attempt: Any = SimpleNamespace(
        bench=bench, is_tasks_own=False, is_baseline=False, in_place="", job=str, say=lambda what: print,
        keep=lambda name, content: None, run=SimpleNamespace(budget=SimpleNamespace(min_gain_pct=1.0)),
    )  # fmt: skip
    b, a = (BuiltObject(job, False, "", 0, "") for job in "ba")
    return Winner(cast(Attempt, attempt), CONTEST, b, a)


async def well(bench: Place) -> None:
    """It ends at once."""


async def for_ever(bench: Place) -> None:
    await asyncio.Event().wait()


def after(other: str, then: Exception | None = None) -> Takes:
    """A job that ends, in this way, once the other one has begun, and what that does at once is done."""

    async def take(bench: Place) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await bench.event(other).wait()
        await asyncio.sleep(0)
        if then is not None:
            raise then

    return take


def fails(how: Exception) -> Takes:
    async def take(bench: Place) -> None:
        raise how

    return take


async def test_repeats_begin_when_all_calls_on_fresh_inputs_are_timed_and_go_on_beside_the_rest() -> None:
    bench = Place(after("audit"), after("repeats"))
    found = winner(bench)
    assert await all_hold(found, ACCEPTED) == ACCEPTED
    assert found.audited is not None and (found.repeats, found.audited.times) == (9, 1)
    assert bench.noted[:3] == ["audit begins", "fresh inputs are timed", "repeats begins"]
    assert set(bench.noted[3:]) == {"audit is over", "repeats is over"}


@pytest.mark.parametrize(("pct", "times"), [(SMALL_PCT - 0.1, [3, 2, 2]), (SMALL_PCT, [1, 2, 2, 2])])
@pytest.mark.parametrize("beside", [True, False])
async def test_audits_are_taken_in_few_jobs(pct: float, times: list[int], beside: bool) -> None:
    """Each takes those that are missing until it is asked whether more are wanted: until enough refuse the gain."""
    bench = Place(well, well, repeats_beside=beside, found=replace(FOUND, fresh=NOTHING, alone=UNSURE))
    with pytest.raises(CandidateFailed, match="fresh"):
        await all_hold(winner(bench), replace(ACCEPTED, gain=Gain(pct, pct - 0.1, pct + 0.1)))
    assert bench.times == times
    first = times[0] if beside else 1  # what runs beside the repeats costs nothing
    assert bench.alone == [first, *times[1:]], "each kernel is timed alone as often as on fresh inputs"


DOUBTFUL = {"one": FreshCase(1, 4, True, (900,) * 40, (896,) * 40, a_passed_ns=(960,) * 40, b_passed_ns=(956,) * 40)}


@pytest.mark.parametrize(
    ("passed_s", "jobs", "fault"), [(0.0, [3, 2, 2, 4], GainNotHeld), (MOST_S, [3], GainUnconfirmed)]
)
async def test_a_gain_that_is_in_doubt_when_the_time_is_over_is_not_accepted(
    passed_s: float, jobs: list[int], fault: type
) -> None:
    samples = tuple(ProcessSample(n, {"one": replace(CASE, b_ns=(882 + 3 * n,) * 2)}) for n in range(9))
    bench = Place(well, well, found=replace(FOUND, fresh=DOUBTFUL, fresh_s=0.0, alone_s=0.0))
    found = winner(bench)
    found.samples, found.made = samples, found.made - passed_s
    with pytest.raises(CandidateFailed) as failed:
        await all_hold(found, replace(ACCEPTED, gain=Gain(2.0, 1.1, 3.0)))
    assert isinstance(failed.value.what, fault) and failed.value.final
    assert bench.times == jobs
    assert found.audited is not None and found.audited.whole is not None
    assert passed_s <= found.audited.whole < passed_s + PATIENCE_S


@pytest.mark.parametrize(("b_ns", "rows"), [(600, [False, True]), (850, [False, False, False]), (410, [False])])
async def test_calls_follow_one_another_where_half_of_the_gain_is_there_one_by_one(b_ns: int, rows: list[bool]) -> None:
    """In this audit they have all of it: it is not asked again."""
    fresh = {"one": FreshCase(1, 4, True, (900,) * 40, (b_ns,) * 40)}
    in_rows = {"one": replace(fresh["one"], rows=Rows(9, 4, (8100,) * 4, (3600,) * 4))}

    class Gpu(Place):
        async def audit(self, *given: Any, rows: bool = False) -> AuditSamples:
            self.rows.append(rows or given[-1])
            return replace(FOUND, fresh=in_rows if self.rows[-1] else fresh)

    bench = Gpu(well, well, repeats_beside=False)
    if b_ns == 850:
        with pytest.raises(CandidateFailed, match="fresh"):
            await all_hold(winner(bench), ACCEPTED)
    else:
        await all_hold(winner(bench), ACCEPTED)
    assert bench.rows == rows


async def test_what_its_contest_shows_to_be_kept_is_refused_before_anything_is_measured() -> None:
    bench = Place(well, well)
    found = winner(bench)
    keeps = replace(CASE, fresh=Batches(1, (900, 900), (800, 800)))
    found.samples = tuple(ProcessSample(number, {"one": keeps}) for number in range(9))
    with pytest.raises(CandidateFailed) as failed:
        await all_hold(found, ACCEPTED)
    assert isinstance(failed.value.what, GainNotHeld) and failed.value.what.audit == "kept"
    assert bench.noted == []
    found.attempt.in_place = "incumbent"
    assert await all_hold(found, ACCEPTED) == ACCEPTED, (
        "in its place the incumbent is measured, whose gain nobody asks for"
    )


async def test_what_few_calls_take_so_long_for_is_refused_before_anything_is_measured() -> None:
    bench = Place(well, well)
    found = winner(bench)
    stalls = CaseSample(1, (900,) * 20, (400,) * 19 + (8000,))
    found.samples = tuple(ProcessSample(number, {"one": stalls}) for number in range(9))
    with pytest.raises(CandidateFailed) as failed:
        await all_hold(found, ACCEPTED)
    assert isinstance(failed.value.what, GainNotHeld) and failed.value.what.audit == "average"
    assert failed.value.final and bench.noted == []
    found.attempt.in_place = "incumbent"
    assert await all_hold(found, ACCEPTED) == ACCEPTED


async def test_repeats_are_over_before_the_audit_begins_where_they_need_its_cpu() -> None:
    bench = Place(well, well, repeats_beside=False)
    await all_hold(winner(bench), ACCEPTED)
    assert bench.noted[:3] == ["repeats begins", "repeats is over", "audit begins"]


@pytest.mark.parametrize("audit", [well, for_ever, fails(CheckFailed(AUDITS)), fails(HostError("busy", "others"))])
async def test_what_is_wrong_in_repeats_is_told_first_and_ends_the_audit(audit: Takes) -> None:
    """Its agent may repair it."""
    bench = Place(after("audit", CheckFailed(OWN)), audit)
    with pytest.raises(CandidateFailed) as failed:
        await all_hold(winner(bench), ACCEPTED)
    assert (failed.value.what, failed.value.final) == (Incorrect(OWN), False)
    assert bench.noted[-1] == "audit is forgotten"
    assert ("audit is ended" in bench.noted) == (audit is for_ever)


async def test_what_an_audit_finds_is_told_once_the_repeats_are_right() -> None:
    bench = Place(after("audit"), fails(CheckFailed(AUDITS)))
    with pytest.raises(CandidateFailed) as failed:
        await all_hold(winner(bench), ACCEPTED)
    assert (failed.value.what, failed.value.final) == (IncorrectTimed(AUDITS), True)
    assert bench.noted[-1] == "repeats is over"


async def test_trouble_of_the_host_in_repeats_ends_the_audit_which_is_measured_anew() -> None:
    bench = Place(after("audit", HostError("host", "its disk is full")), for_ever)
    with pytest.raises(HostError, match="its disk is full"):
        await all_hold(winner(bench), ACCEPTED)
    assert bench.noted[-2:] == ["audit is ended", "audit is forgotten"]


async def test_trouble_of_the_host_in_the_audit_is_told_where_repeats_are_right() -> None:
    bench = Place(after("audit"), fails(HostError("busy", "others measure")))
    with pytest.raises(HostError, match="others measure"):
        await all_hold(winner(bench), ACCEPTED)
    assert bench.noted[-1] == "repeats is over"


@pytest.mark.parametrize("repeats", [well, for_ever])
async def test_whoever_stops_the_run_ends_both(repeats: Takes) -> None:
    bench = Place(repeats, for_ever)
    taken = asyncio.create_task(all_hold(winner(bench), ACCEPTED))
    async with asyncio.timeout(PATIENCE_S):
        await bench.event("repeats").wait()
    taken.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taken
    both = {"audit is ended", "repeats is over" if repeats is well else "repeats is ended"}
    assert both <= set(bench.noted)
