"""The audits before an acceptance: kernels that forge a gain are found, honest ones of many styles are not."""

import platform
import sys
from dataclasses import replace
from statistics import median

import pytest

from kpd.measure import audits, clocks
from kpd.measure.audits import MOST_AUDITS, AuditSamples
from kpd.measure.bench import CheckFailed
from kpd.measure.clocks import lengthening
from kpd.measure.driver import audits as taken
from kpd.measure.judge import judge
from kpd.measure.samples import ProcessSample
from kpd.model.audits import AuditSummary
from kpd.model.faults import ClockForged, GainNotHeld
from kpd.model.verdicts import Gain
from tests.support.measure import forgeries as f
from tests.support.measure.measured import Lab, lab

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's /proc"),
]
x86_only = pytest.mark.skipif(platform.machine() != "x86_64", reason="has machine code of x86-64")


@pytest.fixture(scope="module", name="lab")
async def _lab(tmp_path_factory):
    async with lab(tmp_path_factory.mktemp("audits")) as ready:
        yield ready


def unconfined(lab: Lab) -> Lab:
    return replace(lab, where=replace(lab.where, env={"KPD_UNCONFINED": "1"}, confined=False))


async def refused(lab: Lab, candidate: str) -> ClockForged | GainNotHeld | None:
    audit, contest = await lab.audit(f.SLOW, candidate)
    gain = judge(contest, 1.0).gain
    assert gain.low > 10, "the contest believes it"
    return clocks.refuse_clock(contest) or audits.refuse_gain(audits.summary(audit, contest), gain)


@pytest.mark.parametrize("candidate", [pytest.param(text, id=name) for name, text in f.HONEST.items()])
async def test_an_honest_kernel_passes(lab: Lab, candidate: str) -> None:
    assert await refused(lab, candidate) is None


async def test_another_audit_need_not_time_each_kernel_alone(lab: Lab) -> None:
    (whole, contest), (more, _) = [await lab.audit(f.SLOW, next(iter(f.HONEST.values())), alone) for alone in (1, 0)]
    assert len(whole.alone) >= audits.FEWEST_ALONE
    assert more.fresh.keys() == whole.fresh.keys()
    assert more.alone == ()
    found = audits.joined(whole, more)
    assert (found.times, found.alone) == (2, whole.alone)
    assert audits.refuse_gain(audits.summary(found, contest), judge(contest, 1.0).gain) is None


async def test_one_job_takes_several_audits(lab: Lab) -> None:
    audit, contest = await lab.audit(f.SLOW, f.HALF, times=3)
    assert audit.times == 3
    for case in audit.fresh.values():
        assert len(case.taken) == len(case.swapped_taken) == 3
        assert min(*case.taken, *case.swapped_taken) >= 4
        assert sum(case.taken) == len(case.b_ns) == len(case.b_passed_ns)
        assert case.compared >= 3, "one output in each process, at the least"
    assert len(audit.alone) >= audits.FEWEST_ALONE
    told = audits.summary(audit, contest)
    assert told.times == 3
    assert told.fresh.low > 20, "of half the time"


async def test_a_kernel_that_computes_only_what_has_changed_has_no_gain_on_fresh_inputs(lab: Lab) -> None:
    audit, contest = await lab.audit(f.SLOW, f.KEEPS)
    summary = audits.summary(audit, contest)
    claimed = judge(contest, 1.0).gain
    found = audits.refuse_gain(summary, claimed)
    assert isinstance(found, GainNotHeld)
    assert summary.fresh.pct < claimed.pct / 2
    assert found.audit in ("fresh", "kept"), "on a busy machine its few calls on fresh inputs may leave doubt"
    assert summary.kept is not None
    assert summary.kept.low > 90


async def test_a_kernel_that_is_quick_for_its_first_buffers_only_has_no_gain_on_fresh_inputs(lab: Lab) -> None:
    found = await refused(lab, f.QUICK_WHERE_IT_WAS)
    assert isinstance(found, GainNotHeld)
    assert found.audit == "fresh"


async def decided(
    lab: Lab, kernel: str, audit: AuditSamples, contest: tuple[ProcessSample, ...]
) -> tuple[AuditSummary, Gain]:
    """Audit again while the samples do not decide, as an iteration does."""
    claimed = judge(contest, 1.0).gain
    for _ in range(MOST_AUDITS - 1):
        if audits.wants_more(found := audits.summary(audit, contest), claimed):
            alone = audits.wants_alone(found, claimed)
            audit = audits.joined(audit, (await lab.audit(f.SLOW, kernel, alone))[0])
    return audits.summary(audit, contest), claimed


async def test_a_truly_faster_kernel_that_keeps_results_besides_has_less_gain_on_fresh_inputs(lab: Lab) -> None:
    summary, claimed = await decided(lab, f.QUICK_AND_KEEPS, *await lab.audit(f.SLOW, f.QUICK_AND_KEEPS))
    assert summary.fresh.low > 30, "it is truly faster"
    assert isinstance(audits.refuse_gain(summary, claimed), GainNotHeld)


@x86_only
async def test_single_calls_that_begin_later_than_they_do_have_no_gain_by_the_drivers_clock(lab: Lab) -> None:
    summary, claimed = await decided(lab, f.STARTS_LATER, *await lab.audit(f.SLOW, f.STARTS_LATER))
    assert summary.fresh.low > claimed.pct * 0.8, "by its process's own clock it is there"
    found = audits.refuse_gain(summary, claimed)
    assert isinstance(found, GainNotHeld)
    assert found.audit == "clocked"


@x86_only
async def test_a_worker_reads_nothing_of_fresh_inputs_ahead_of_a_call(lab: Lab) -> None:
    """What it reads, a kernel could have it leave out: the driver's clock would take that for a gain."""
    audit, _ = await lab.audit(f.SLOW, f.ENDLESS_VIEW)
    assert all(len(case.b_ns) >= 4 for case in audit.fresh.values())


@x86_only
async def test_what_a_process_says_of_batches_that_did_not_count_hides_no_time_of_the_others(lab: Lab) -> None:
    """The candidate's batches are half of the time of each case, of which a third is not told."""

    async def lengthened(candidate: str) -> float:
        samples = await lab.time(f.SLOW, candidate, 5, quads=40)
        return median(lengthening(case) for one in samples for case in one.cases.values())

    assert await lengthened(f.SLOW) < 1.1 < await lengthened(f.SPENT_ELSEWHERE)


async def test_stretched_times_are_longer_than_the_timing(lab: Lab) -> None:
    audit, contest = await lab.audit(f.SLOW, f.STRETCHES)
    forged = clocks.refuse_clock(contest)
    assert forged is not None
    assert forged.summed_ms > forged.wall_ms
    summary, claimed = await decided(lab, f.STRETCHES, audit, contest)
    claims = claimed.low > 1.0  # which noise between few processes can hide: then nothing would be accepted
    assert not claims or audits.refuse_gain(summary, claimed) is not None, (
        "nor are they there alone, nor on fresh inputs"
    )


@x86_only
async def test_a_slow_clock_that_is_mended_before_anybody_looks_is_found_by_the_drivers(lab: Lab) -> None:
    # Long enough that the waits of a busy host, of which up to 10 ms a process are no sign of anything, do not hide it.
    forged = clocks.refuse_clock(await unconfined(lab).time(f.SLOW, f.HIDES_CLOCK, processes=4, quads=40))
    assert forged is not None
    assert forged.summed_ms < forged.wall_ms


@pytest.mark.parametrize(
    ("candidate", "where"),
    [
        pytest.param(f.PATCHES, "a1.so", id="the incumbent's code"),
        pytest.param(f.SLOWS_CLOCK, "libc", id="the clock", marks=x86_only),
        pytest.param(f.MAKES_CODE, "no file", id="code in no file"),
    ],
)
async def test_changed_code_is_found_in_each_process_that_is_timed(lab: Lab, candidate: str, where: str) -> None:
    """Where there is no sandbox: in one it cannot be changed."""
    with pytest.raises(CheckFailed, match=f"changed the code of {where}"):
        await unconfined(lab).time(f.SLOW, candidate)


@pytest.mark.parametrize(
    "candidate",
    [
        pytest.param(f.COVERS, id="covered"),
        pytest.param(f.EDITS, id="written"),
        pytest.param(f"{f.EDITS}__attribute__((constructor)) static void early(void) {{ forge(); }}\n", id="at load"),
    ],
)
async def test_changed_constants_are_found_in_each_process_that_is_timed(lab: Lab, candidate: str) -> None:
    with pytest.raises(CheckFailed, match=r"changed the memory of a1\.so"):
        await lab.time(f.SLOW, candidate)


async def test_each_audit_says_what_it_covered(lab: Lab) -> None:
    audit, contest = await lab.audit(f.SLOW, f.HALF)
    assert audit.fresh.keys() == {"4096", "1003"}
    for case in audit.fresh.values():
        assert case.reps == 1
        assert len(case.a_ns) == len(case.b_ns) >= 4
        assert case.compared >= 1
        assert case.anew
    assert [sample.process % 2 for sample in audit.alone] in ([0, 1] * 3, [0, 1] * 2), "fewer where they take long"
    told = audits.summary(audit, contest)
    assert (told.unread, told.processes) == (0, len(contest) + len(audit.alone))
    assert told.driver is not None
    assert told.driver.pct > 0
    assert told.clocked is not None
    assert told.clocked.pct > 20, "of half the time"
    assert told.seconds == audit.fresh_s + audit.alone_s
    assert told.calls == sum(len(case.a_ns) for case in audit.fresh.values())


async def test_alone_ends_early_where_processes_take_long(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taken, "ALONE_S", 0.0)
    audit, contest = await lab.audit(f.SLOW, f.TENTH)
    assert [sample.process % 2 for sample in audit.alone] == [0, 1] * 2
    assert audits.summary(audit, contest).alone.pct > 40, "its width is the machine's"


@pytest.mark.parametrize(("limit_s", "processes"), [(0.0, audits.FEWEST_ALONE), (60.0, 18)])
async def test_as_long_as_repeats_take_each_kernel_is_timed_alone_beside_them(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, limit_s: float, processes: int
) -> None:
    monkeypatch.setattr(taken, "BESIDE_S", limit_s)
    begun: list[bool] = []
    audit, _ = await lab.audit(f.SLOW, f.TENTH, alone=3, times=3, fresh=lambda: begun.append(True))
    assert begun == [True], "once all calls on fresh inputs are timed"
    assert [sample.process % 2 for sample in audit.alone] == [0, 1] * (processes // 2)


async def test_an_incumbent_whose_file_was_changed_too_is_found_where_there_is_no_sandbox(lab: Lab) -> None:
    with pytest.raises(CheckFailed, match=r"changed the code of a1\.so"):
        await unconfined(lab).time(f.SLOW, f.REWRITES)
