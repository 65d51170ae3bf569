"""A whole bench on a CUDA task, by the stand-in for nvcc and a GPU: built, checked, timed and judged. No time of it is
a GPU's."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kpd.hosts.errors import HostError
from kpd.hosts.host import LeaseRequest
from kpd.measure.bench import CheckFailed
from kpd.measure.compiling import BuildError
from kpd.measure.driver.bench import DriverBench
from kpd.measure.judge import judge
from kpd.measure.samples import samples_from_json, samples_to_json
from kpd.measure.score import case_times, impossible
from kpd.model.sanitizer import TOOLS
from tests.support.measure.cuda.bench import CPU_AS_GPU, built, quiet, standing_in
from tests.support.measure.cuda_measured import LOOP, ONE_FILE, RIGHT, TOML, kernel

pytestmark = pytest.mark.asyncio(loop_scope="module")
SLOW = kernel(f"for (volatile int r = 0; r < 300; r++) {{ {LOOP} }}")


def says(before: str, now: str) -> None:
    """Let what passes for nvcc build a roofline with another figure."""
    nvcc = Path(shutil.which("nvcc") or "")
    nvcc.write_text(nvcc.read_text().replace(before, now))


@pytest.fixture(scope="module", name="bench")
async def _bench(tmp_path_factory):
    async with standing_in(tmp_path_factory.mktemp("cuda")) as bench:
        yield bench


async def test_the_cases_and_what_they_cost_are_known(bench: DriverBench) -> None:
    assert [(case.name, case.timed, case.checked) for case in bench.harness.cases] == [
        ("large", True, True), ("odd", False, True),
    ]  # fmt: skip
    large = bench.work["large"]
    assert large.bytes == 240_132
    assert large.roofline_us is not None and large.least_us is not None
    assert large.roofline_us == pytest.approx(240_132 / 2700.0 / 1e3)
    assert 0 < large.least_us < large.roofline_us / 1.25
    assert bench.peaks == (2700.0, 52_000.0)


async def test_a_gpu_that_was_slowed_when_it_was_measured_is_measured_once_more(bench: DriverBench) -> None:
    known, least_us = bench._roofline, bench.work["large"].least_us
    assert least_us is not None
    try:
        says("2700.0", "8100.0")
        says("52000.0", "41000.0")
        await bench.remeasure()
        assert bench.peaks == (8100.0, 52_000.0), "the better of both times"
        assert bench.work["large"].least_us == pytest.approx(least_us * 5100 / 8100)
        says("8100.0", "9900.0")
        await bench.remeasure()
        assert bench.peaks == (8100.0, 52_000.0), "not a third time"
    finally:
        says("9900.0", "2700.0")
        says("41000.0", "52000.0")
        bench._use(known)
        bench._remeasured = False


async def test_a_right_kernel_is_right_and_a_wrong_one_is_told_where(bench: DriverBench) -> None:
    found = await bench.check(await built(bench, RIGHT), "check-right", quiet)
    assert found.comparisons == 5 * 21_014
    with pytest.raises(CheckFailed, match=r"y\[\d+\] is \S+, should be"):
        await bench.check(await built(bench, kernel(LOOP.replace("+ k[i]", "- k[i]"))), "check-wrong", quiet)


async def test_a_launch_that_fails_is_the_candidates_fault(bench: DriverBench) -> None:
    source = RIGHT.replace("256, 0, stream", "4096, 0, stream")
    with pytest.raises(CheckFailed, match="cudaErrorInvalid"):
        await bench.check(await built(bench, source), "check-launch", quiet)


async def test_samples_have_cold_and_warm_batches_and_the_time_on_the_device(bench: DriverBench) -> None:
    a, b = await built(bench, SLOW), await built(bench, RIGHT, "-DOTHER")
    samples = [sample async for sample in bench.time(a, b, "time-pair", 0, 2, quiet)]
    assert [sample.process for sample in samples] == [0, 1]
    for sample in samples:
        assert sample.cases.keys() == {"large"}
        case = sample.cases["large"]
        assert case.whole
        assert case.warm is not None and case.warm.whole


async def test_a_much_quicker_candidate_is_judged_faster(bench: DriverBench) -> None:
    """As far as a CPU can tell: others may use it, too, so no taint counts here."""
    a, b = await built(bench, SLOW), await built(bench, RIGHT)
    samples = [replace(sample, taint="") async for sample in bench.time(a, b, "judged", 0, 7, quiet)]
    verdict = judge(samples, 2.0)
    assert verdict.word == "faster"
    assert verdict.gain.pct > 50
    assert samples_from_json(samples_to_json(tuple(samples))) == tuple(samples)
    (large,) = case_times(samples, bench.work)
    assert large.warm_us is not None and large.warm_us > 0
    too_fast = impossible([replace(large, candidate_us=0.001)], bench.work)
    assert too_fast is not None and (too_fast.case, too_fast.us) == ("large", 0.001)
    assert not impossible([large], bench.work)


def stdout(bench: DriverBench, job: str) -> list[dict[str, Any]]:
    """What the processes of a job have reported."""
    return [json.loads(line) for line in Path(bench.host.root, "jobs", job, "stdout").read_text().splitlines()]


def jobs(bench: DriverBench) -> set[str]:
    """The jobs that have run."""
    return {path.name for path in Path(bench.host.root, "jobs").iterdir()}


async def test_repeats_and_the_first_audit_are_one_job(bench: DriverBench) -> None:
    """So each process of the audit gets ready before its turn; the second audit has no repeats."""
    a, b = await built(bench, SLOW), await built(bench, RIGHT)
    calls = await bench.repeat(b, "winner-repeats", quiet, a)
    assert calls.keys() == {"large", "odd"} and min(calls.values()) >= 4
    found = await bench.audit(a, b, "winner-audit", quiet)
    assert found.fresh["large"].compared
    assert [one.process for one in found.alone] == [0, 1, 2, 3]
    reports = stdout(bench, "winner-repeats")
    assert [next(iter(one)) for one in reports] == ["calls", *["cases"] * 5]
    assert "winner-audit" not in jobs(bench)
    again = await bench.audit(a, b, "winner-audit-2", quiet, alone=False)
    assert (len(stdout(bench, "winner-audit-2")), again.alone) == (1, ())
    assert all(case.rows is None for case in (found.fresh | again.fresh).values())
    more = await bench.audit(a, b, "winner-audit-3", quiet, alone=False, rows=True)
    assert more.fresh.keys() == found.fresh.keys()


async def test_what_was_reported_is_read_again(bench: DriverBench) -> None:
    """As after a restart, with the repeats passed and the audit not read yet, and with the job at its end."""
    a, b = await built(bench, SLOW), await built(bench, RIGHT)
    first = await bench.repeat(b, "restarted", quiet, a)
    bench._repeated.clear()
    assert await bench.repeat(b, "restarted", quiet, a) == first
    found = await bench.audit(a, b, "restarted-audit", quiet)
    assert await bench.repeat(b, "restarted", quiet, a) == first
    once_more = await bench.audit(a, b, "restarted-audit", quiet)
    assert (once_more.fresh, once_more.alone) == (found.fresh, found.alone)


async def test_nothing_is_audited_of_a_kernel_that_is_wrong_in_the_repeats(bench: DriverBench) -> None:
    a = await built(bench, SLOW)
    wrong = "static int calls; if (++calls == 9) cudaMemsetAsync(y, 0, sizeof *y, stream);"  # whatever x is
    b = await built(bench, kernel(launch=wrong))
    with pytest.raises(CheckFailed, match=r"on two sets of inputs in turn"):
        await bench.repeat(b, "differs", quiet, a)
    (report,) = stdout(bench, "differs")
    assert report["problem"]["who"] == "candidate"
    assert not bench._repeated


async def test_repeats_alone_need_no_incumbent(bench: DriverBench) -> None:
    b = await built(bench, RIGHT)
    assert await bench.repeat(b, "baseline-repeats", quiet)
    assert len(stdout(bench, "baseline-repeats")) == 1


async def test_where_it_runs(bench: DriverBench) -> None:
    """The lease is the GPU's, foreign processes count when it is timed, and the process sees that GPU alone."""
    said = await bench.counted(
        await built(bench, RIGHT), "run", lambda calls: f"{calls(2)} && echo $CUDA_VISIBLE_DEVICES", quiet
    )
    assert said.stdout.decode().splitlines()[-1] == CPU_AS_GPU.id
    assert bench._checking.lease == LeaseRequest(CPU_AS_GPU.id)
    assert bench._measuring.lease == LeaseRequest(CPU_AS_GPU.id, gpu=True)


async def test_a_memcheck_sees_the_checked_cases_and_a_profile_the_timed_ones(
    bench: DriverBench, tmp_path: Path
) -> None:
    tool = tmp_path / "compute-sanitizer"
    tool.write_text(
        '#!/bin/sh\nwhile [ "$1" != --log-file ]; do shift; done\nlog=$2; shift 2\n'
        f'"$@" 2>{tmp_path}/seen || exit 8\necho "========= ERROR SUMMARY: 0 errors" >$log\n'
    )
    tool.chmod(0o755)
    tells = kernel(before="#include <cstdio>", launch='fprintf(stderr, "n=%ld\\n", n);')
    candidate = await built(bench, tells)
    checks = replace(bench._last_checks, sanitizer=str(tool))
    found = await checks.run(candidate, "memcheck", "memcheck", 30.0, quiet)
    assert (bench.tools, checks.tools) == ((), TOOLS)
    assert (found.cases, found.of, found.errors, found.trouble) == (2, 2, 0, "")
    assert set((tmp_path / "seen").read_text().split()) == {"n=20011", "n=1003"}
    ran = await bench.counted(candidate, "timed-only", lambda calls: calls(1), quiet)
    assert set(ran.stderr.decode().split()) == {"n=20011"}


async def test_a_profile_has_a_limit_of_its_own(bench: DriverBench) -> None:
    before = bench.task
    bench.task = replace(before, bench=replace(before.bench, limit_s=0.2))
    try:
        ran = await bench.counted(await built(bench, RIGHT), "slow-profile", lambda calls: "sleep 1", quiet)
    finally:
        bench.task = before
    assert (ran.rc, ran.reason) == (0, "")


async def test_flags_that_are_refused_and_code_that_is_wrong_do_not_build(bench: DriverBench) -> None:
    with pytest.raises(BuildError, match="-ccbin=x"):
        await built(bench, RIGHT, "-ccbin=x")
    with pytest.raises(BuildError, match=r"kernel\.cu"):
        await built(bench, kernel("y[i] = nowhere;"))


async def test_a_task_that_does_not_build_says_why(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="the task does not build: nvcc: Unknown option '--nonsense'"):
        async with standing_in(tmp_path, toml=TOML + '[build]\nflags = ["--nonsense"]\n'):
            pass


async def test_a_gpu_that_is_not_there_is_the_hosts_trouble(bench: DriverBench, tmp_path: Path) -> None:
    broken = tmp_path / "bench"
    broken.write_text(
        "#!/bin/sh\necho 'kpd driver: the worker cannot start: cudaErrorNoDevice: no CUDA-capable device is detected' "
        ">&2\nexit 2\n"
    )
    broken.chmod(0o755)
    right = await built(bench, RIGHT)
    lost = replace(bench.harness, program=str(broken))
    before, bench.harness = bench.harness, lost
    try:
        with pytest.raises(HostError, match="cudaErrorNoDevice"):
            await bench.check(right, "check-lost", quiet)
        with pytest.raises(HostError, match="cudaErrorNoDevice"):  # nobody waits for the first process's context
            await anext(bench.time(right, right, "time-lost", 0, 3, quiet))
        with pytest.raises(HostError, match="cudaErrorNoDevice"):
            await bench.repeat(right, "repeats-lost", quiet, right)
    finally:
        bench.harness = before


async def test_a_candidate_of_several_sources_is_right_by_all_of_them(bench: DriverBench) -> None:
    """The kernel's own source launches what a new one holds; to lack that one does not build."""
    launch = RIGHT.replace("void blend(", "void launch(")
    signature = RIGHT[RIGHT.index("void blend(") :].partition(" {")[0]
    first = f"{signature.replace('blend', 'launch')};\n{signature} {{ launch(x, k, y, n, stream); }}\n".encode()

    async def job(**parts: str) -> str:
        files = {"kernel.cu": first, **{f"src/{name}.cu": text.encode() for name, text in parts.items()}}
        return (await bench.build(await bench.stage(files), files, quiet)).job

    assert (await bench.check(await job(part=launch), "check-units", quiet)).comparisons == 5 * 21_014
    with pytest.raises(CheckFailed, match=r"y\[\d+\] is \S+, should be"):
        await bench.check(await job(part=launch.replace("+ k[i]", "- k[i]")), "check-wrong-unit", quiet)
    with pytest.raises(BuildError, match="undefined reference to `launch"):
        await job()


async def test_a_task_in_one_file(tmp_path: Path) -> None:
    async with standing_in(tmp_path, one_file=True) as bench:
        right = await built(bench, ONE_FILE, name="blend.cu")
        assert (await bench.check(right, "check-one", quiet)).comparisons == 5 * 21_014
        with pytest.raises(BuildError, match=r"blend\.cu.*nowhere"):
            await built(bench, ONE_FILE.replace(LOOP, "y[i] = nowhere;"), name="blend.cu")
