"""The profile of a candidate on a GPU, from the job on the host to advice and bottleneck.

The host, the task, the driver and the reader are real; ncu is a stand-in that runs the driver and leaves a recording.
"""

import math
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kpd.measure.bench import Bench, LaunchFilter
from kpd.measure.c.bench import prepare
from kpd.measure.cuda import ptxas
from kpd.measure.score import CaseWork
from kpd.model.facts.steps import Timed
from kpd.model.hosts import Device
from kpd.model.metrics import GPU_METRICS, PER_CASE, describe
from kpd.model.profiles import CaseTime
from kpd.profile import gpu, speed, triton
from kpd.profile.catalogue import profiler_of, rules
from kpd.profile.changes import changes
from kpd.profile.ncu.child import launches
from kpd.profile.ncu.metrics import NAMES
from kpd.profile.ncu.read import has_reader
from kpd.profile.profile import Profile
from kpd.text.changes import change as told
from kpd.workspace.task import load_task
from tests.support.measure.measured import local_host
from tests.support.profile.ncu_reports import BASELINE_US, CASES, TILED_US, on_path, pages, recorded, stand_in, timed

H100 = Device("GPU-00000000-0000-0000-0000-000000000000", "gpu", "NVIDIA H100 80GB HBM3", "sm_90")
PTXAS = """ptxas info    : Compiling entry function '_Z17transpose_squaresPKfPflljj' for 'sm_90'
ptxas info    : Function properties for _Z17transpose_squaresPKfPflljj
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 16 registers, used 0 barriers
"""
HARNESS = """
#include "kpd_task.h"
static const kpd_case cases[] = {
    {"square_4096", {64}}, {"square_1024", {64}}, {"tall", {64}}, {"wide", {64}}, {"odd", {64}}};
static void buffers(const kpd_case *c, kpd_buffer *b) {
    b[0] = (kpd_buffer){"x", KPD_IN, KPD_F32, (size_t)c->dims[0]};
    b[1] = (kpd_buffer){"y", KPD_OUT, KPD_F32, (size_t)c->dims[0]};
}
static void fill(const kpd_case *c, kpd_rng *rng, kpd_distribution d, void *const *data) {
    kpd_fill(rng, d, data[0], (size_t)c->dims[0]);
}
static void oracle(const kpd_case *c, void *const *data, double *const *want) {
    for (long i = 0; i < c->dims[0]; i++) want[1][i] = ((const float *)data[0])[i];
}
static void call(kpd_kernel kernel, const kpd_case *c, void *const *data) {
    ((void (*)(const float *, float *, long))kernel)(data[0], data[1], c->dims[0]);
}
const kpd_task_t kpd_task = {"copy", {"n"}, cases, 5, 2, buffers, fill, oracle, call};
"""
TASK = '[task]\nname = "copy"\nlanguage = "c"\neditable = ["kernel.c"]\n[check]\nrtol = 1e-5\natol = 1e-6\n'
KERNEL = "void copy(const float *x, float *y, long n) { for (long i = 0; i < n; i++) y[i] = x[i]; }\n"
DENIED = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n==WARNING== No kernels were profiled."


async def of_recording(name: str, times: tuple[float, ...], compiled: str = PTXAS) -> Profile:
    """As `gpu.measured` would, of a recording instead of a job."""
    files = pages() if name == "pages" else {"report.ncu-rep": recorded(f"{name}.ncu-rep")}
    cases = timed(times)
    speeds, _ = speed.read(cases, {case.case: CaseWork(case.bytes, None, case.roofline_us) for case in cases})
    return gpu.concluded(await launches(files), "", cases, speeds, ptxas.parse(compiled), LaunchFilter())


@pytest.fixture
async def profiled(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Profile:
    """The profile through a real host. The parameter is what ncu says instead of measuring, or "full", or "off"."""
    full = request.param == "full"
    stand_in(tmp_path / "bin", refusal="" if full else request.param, name="baseline_full" if full else "baseline")
    monkeypatch.setenv("PATH", on_path(tmp_path / "bin"))
    monkeypatch.delenv("KPD_NCU", raising=False)
    folder = tmp_path / "copy"
    folder.mkdir()
    for name, text in (("task.toml", TASK), ("harness.c", HARNESS), ("kernel.c", KERNEL)):
        (folder / name).write_text(text)
    said: list[str] = []
    async with local_host(tmp_path / "host") as host:
        bench: Bench = await prepare(host, load_task(folder), H100, said.append)
        files = {"kernel.c": KERNEL.encode()}
        built = await bench.build(await bench.stage(files), files, said.append)
        of = Timed("r1", 0, 0.0, 0.0, 1.0, 1, timed(BASELINE_US))
        profiler = profiler_of(bench.device.kind)
        if request.param == "off":
            return Profile(await profiler.uncounted(bench, built.job, of), {})
        measure = profiler.in_full if full else profiler.measured
        assert measure is not None
        return await measure(bench, built.job, of, "perf", said.append)


@pytest.mark.parametrize("profiled", [""], indirect=True)
async def test_a_candidate_is_profiled_where_it_is_timed(profiled: Profile) -> None:
    metrics, missing = profiled.metrics, profiled.missing
    assert set(profiled.files) == ({"report.ncu-rep"} if has_reader() else {"report.ncu-rep", "raw.csv", "details.csv"})
    assert profiled.files["report.ncu-rep"] == recorded("baseline.ncu-rep")
    assert {*metrics, *missing} >= GPU_METRICS - {"intensity", "host_us", *triton.NAMES}
    assert not metrics.keys() & missing.keys()
    assert all(describe(name) for name in {*metrics, *missing})
    assert {f"{name}[wide]" for name in NAMES} <= metrics.keys()
    assert metrics["event_us"] - metrics["device_us"] == pytest.approx(3)
    assert missing["ptxas_registers"] == "ptxas said nothing about this candidate"
    assert any(piece.agrees == "uncoalesced_store" for piece in profiled.advice)


@pytest.mark.skipif(not has_reader(), reason="ncu-report, the extra `ncu`, is not installed")
@pytest.mark.parametrize("profiled", ["full"], indirect=True)
async def test_a_full_report_has_its_own_name_and_more_advice(profiled: Profile) -> None:
    assert profiled.files == {"report_full.ncu-rep": recorded("baseline_full.ncu-rep")}
    assert profiled.metrics["sectors_per_store[square_4096]"] == pytest.approx(32, rel=0.01)
    assert "UncoalescedGlobalAccess" in {piece.rule for piece in profiled.advice}


@pytest.mark.parametrize("profiled", [DENIED], indirect=True)
async def test_without_a_permission_to_count_the_rest_is_there_and_says_what_to_do(profiled: Profile) -> None:
    assert profiled.files == {}
    assert profiled.advice == ()
    assert {profiled.missing[name] for name in NAMES} == {profiled.missing["sm_pct"]}
    assert "NVreg_RestrictProfilingToAdminUsers=0" in profiled.missing["sm_pct"]
    assert profiled.metrics["call_us"] == pytest.approx(sum(BASELINE_US) / 5)
    assert profiler_of("gpu").bottleneck(profiled.metrics).startswith("unknown")


@pytest.mark.parametrize("profiled", ["off"], indirect=True)
async def test_what_needs_no_profiler_is_known_where_it_is_off(profiled: Profile) -> None:
    assert profiled.metrics["event_us"] - profiled.metrics["device_us"] == pytest.approx(3)
    assert profiled.metrics["call_us"] == pytest.approx(sum(BASELINE_US) / 5)
    assert not profiled.metrics.keys() & set(NAMES)


async def test_a_naive_transpose_is_told_what_is_wrong_with_it() -> None:
    profile = await of_recording("pages", BASELINE_US)
    fired = {finding.rule: finding for finding in gpu.findings(profile.metrics)}
    assert "uncoalesced_store" in fired
    assert "32.0 sectors a request" in fired["uncoalesced_store"].message
    line = gpu.bottleneck(profile.metrics)
    assert line.startswith("memory bound: L2 at 84 % of its peak, DRAM at 13 %, SMs at 9 %; 15 % of the roofline")
    marks = {piece.agrees for piece in profile.advice if piece.agrees}
    assert "uncoalesced_store" in marks
    assert marks <= fired.keys()


@pytest.mark.skipif(not has_reader(), reason="ncu-report, the extra `ncu`, is not installed")
async def test_what_moved_between_two_kernels_is_said_in_plain_words() -> None:
    before, after = await of_recording("baseline", BASELINE_US), await of_recording("tiled", TILED_US, PTXAS)
    moved = {change.metric: change for change in changes(before.metrics, after.metrics)}
    store = moved["sectors_per_store"]
    assert told(store) == "L2 sectors a store request: down from 32 to 13.4 (-58 %)"
    assert moved["coalescing_store_pct"].after > moved["coalescing_store_pct"].before
    assert not any(name.startswith("sectors_per_store[") for name in moved)
    assert "uncoalesced_store" not in {finding.rule for finding in gpu.findings(after.metrics)}
    assert gpu.bottleneck(after.metrics).startswith("memory bound: L2 at 7")
    assert any("only kernels that are not the candidate's own: transpose_tiles" in piece.text for piece in after.advice)


@pytest.mark.skipif(not has_reader(), reason="ncu-report, the extra `ncu`, is not installed")
async def test_curated_and_full_reports_fire_the_same_rules() -> None:
    curated, full = await of_recording("baseline", BASELINE_US), await of_recording("baseline_full", BASELINE_US)
    fired = [[finding.rule for finding in gpu.findings(profile.metrics)] for profile in (curated, full)]
    assert fired[0] == fired[1]
    assert fired[0]
    assert set(full.missing) == set(curated.missing)
    for name in (
        set(NAMES) - set(full.missing) - {"duration_us", "stall_imc_miss", "stall_no_instruction", "stall_misc"}
    ):
        assert full.metrics[name] == pytest.approx(curated.metrics[name], rel=0.1, abs=0.01), name


def test_every_rule_looks_at_metrics_that_a_profile_can_hold() -> None:
    assert len({rule.id for rule in rules()}) == len(rules())
    for rule in profiler_of("gpu").rules:
        assert set(rule.needs) <= GPU_METRICS, rule.id


def metrics_of(**metrics: float) -> dict[str, float]:
    return {"sm_pct": 20.0, "dram_pct": 20.0, "l2_pct": 20.0, **metrics}


@pytest.mark.parametrize(
    ("metrics", "line"),
    [
        ({}, "unknown: no counters, and the task gives no roofline"),
        ({"roofline_pct": 20.0, "gbs": 600.0}, "unknown without counters; 20 % of the roofline (600 GB/s)"),
        ({"roofline_pct": 80.0, "memory_roofline_pct": 80.0}, "memory bound; 80 % of the roofline; no counters"),
        (metrics_of(dram_pct=85.0, roofline_pct=84.0),
         "memory bound: DRAM at 85 % of its peak, L2 at 20 %, SMs at 20 %; 84 % of the roofline"),
        (metrics_of(sm_pct=90.0), "compute bound: SMs at 90 % of their peak, DRAM at 20 %, L2 at 20 %"),
        (metrics_of(stall_long_scoreboard=0.6, stall_not_selected=0.9),
         "latency bound: DRAM at 20 %, L2 at 20 %, SMs at 20 %; warps waiting: global or local memory (60 % of"),
        (metrics_of(event_us=10.0, device_us=4.0, launch_overhead_pct=60.0, dram_pct=85.0),
         "launch bound: a call takes 10 µs, of which the device works 4 µs (60 % is launching)"),
        # 30 % is launching, and the roofline leaves 60 % of the call to a better kernel: the kernel comes first.
        (metrics_of(event_us=10.0, device_us=7.0, launch_overhead_pct=30.0, roofline_pct=10.0), "latency bound"),
        (metrics_of(event_us=10.0, device_us=7.0, launch_overhead_pct=30.0, roofline_pct=60.0), "launch bound"),
        (metrics_of(launch_overhead_pct=math.nan), "latency bound"),
    ],
)  # fmt: skip
def test_the_bottleneck_in_a_line(metrics: dict[str, float], line: str) -> None:
    assert gpu.bottleneck(metrics).startswith(line)


def test_counters_of_no_case_are_looked_at_as_those_of_all_but_their_sums() -> None:
    whole = {"dram_read_mb": 9000.0, "dram_write_mb": 9000.0, "l2_hit_pct": 10.0, "gbs": 400.0, "call_us": 400.0}
    busy = {"dram_pct": 90.0, "sm_pct": 20.0}
    times = {"call_us[a]": 1.0, "call_us[b]": 1.0}
    assert [finding.rule for finding in gpu.findings(whole | busy | times)] == ["severe_memory_bound"]
    of_a = {f"{name}[a]": value for name, value in whole.items() if name in gpu.TRAFFIC}
    (found,) = gpu.findings({"dram_read_mb": 1.0, "dram_write_mb": 1.0} | of_a | times)
    assert found.message.startswith("in 1 of 2 cases (a)")


def test_without_counters_a_case_that_launching_holds_up_is_named() -> None:
    cases = (CaseTime("large", 900.0, 900.0, 0.0, device_us=897.0), CaseTime("small", 8.0, 8.0, 0.0, device_us=3.0))
    times = gpu.concluded(
        (), "no ncu", cases, {"call_us[large]": 900.0, "call_us[small]": 8.0}, (), LaunchFilter()
    ).metrics
    for counted in ({}, {"dram_pct": 90.0, "sm_pct": 20.0}):
        found = {finding.rule: finding.message for finding in gpu.findings(times | counted)}
        assert found["launch_bound"].startswith("in 1 of 2 cases (small): a call takes 8.0 µs as launched")
        assert ("severe_memory_bound" in found) == bool(counted)


def test_a_case_without_a_counter_does_not_take_it_from_the_others() -> None:
    metrics = {"dram_read_mb": 9e4, "dram_write_mb[a]": 9e4, "dram_read_mb[b]": 1.0, "dram_write_mb[b]": 1.0}
    assert gpu.findings(metrics) == ()


def test_a_task_that_times_events_alone_has_no_launch_overhead() -> None:
    profile = gpu.concluded((), "no ncu", (CaseTime("a", 2.0, 2.0, 0.0),), {}, (), LaunchFilter())
    assert profile.metrics == {"event_us": 2.0, "event_us[a]": 2.0}
    assert {"device_us", "warm_us", "launch_overhead_pct"} <= profile.missing.keys()


@given(st.dictionaries(st.sampled_from(sorted(GPU_METRICS)), st.floats(allow_nan=True, allow_infinity=True)))
def test_whatever_is_known_there_is_a_line_and_no_rule_fails(metrics: dict[str, float]) -> None:
    assert gpu.bottleneck(metrics).isprintable()
    cases = {f"{name}[{case}]": value for name, value in metrics.items() if name in PER_CASE for case in CASES[:2]}
    assert all(finding.evidence for finding in gpu.findings(metrics | cases))
