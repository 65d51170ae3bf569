"""Pairs of kernels timed in fresh processes: what the samples show, and who is found out while timed."""

import asyncio
import platform
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from kpd.hosts.errors import HostError
from kpd.measure.bench import CheckFailed
from kpd.measure.driver.timing import CaseReport, taint, time_pair
from kpd.measure.judge import log_ratio
from kpd.measure.samples import ProcessSample
from tests.support.measure.measured import CPU, FEW, LOOP, QUICK, RIGHT, Lab, kernel, lab

pytestmark = pytest.mark.asyncio(loop_scope="module")
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's /proc and pinning")

SLOW = kernel(f"for (volatile int r = 0; r < 4; r++) {{ {LOOP} }}")
"""Four times the work, so that its times stand out from any noise."""
SECOND = RIGHT + "\n/* not the same file */\n"


@pytest.fixture(scope="module", name="lab")
async def _lab(tmp_path_factory):
    async with lab(tmp_path_factory.mktemp("timing")) as ready:
        yield ready


def ratio(samples: tuple[ProcessSample, ...]) -> float:
    """Logarithm of A's time over B's: the median of all cases and processes."""
    return median(log_ratio(case) for sample in samples for case in sample.cases.values())


async def test_samples_are_whole_and_numbered(lab: Lab) -> None:
    samples = await lab.time(RIGHT, SECOND, processes=3, first=4)
    assert [sample.process for sample in samples] == [4, 5, 6]
    for sample in samples:
        assert sample.cases.keys() == {"4096", "1003"}
        for case in sample.cases.values():
            assert case.reps >= 1
            assert len(case.a_ns) == len(case.b_ns) == 2 * FEW.quads
            assert case.layouts == (FEW.quads if lab.tools.places else 1), "a quad each"
            assert min(case.a_ns + case.b_ns) > 0


async def test_a_kernel_against_itself_is_neither_faster_nor_slower(lab: Lab) -> None:
    assert abs(ratio(await lab.time(RIGHT, RIGHT, processes=3))) < 0.69  # a factor of 2, whatever else the machine does


async def test_a_much_quicker_candidate_shows_and_a_much_slower_one_too(lab: Lab) -> None:
    assert ratio(await lab.time(SLOW, RIGHT, processes=2)) > 0.69
    assert ratio(await lab.time(RIGHT, SLOW, processes=2)) < -0.69


async def test_a_candidate_that_keeps_whole_results_gains_nothing_by_it(lab: Lab) -> None:
    """It is right for any inputs, so only the clock can tell: no timed call may see the inputs of the one before."""
    work = f"for (volatile int r = 0; r < 50; r++) {{ {LOOP} }}"
    keeps = kernel(
        "static float kept_x[8192], kept_y[8192]; static double kept_s[8192], kept_t[8192]; static long held;"
        "if (held == n && !memcmp(kept_x, x, n * 4) && !memcmp(kept_s, s, n * 8)) {"
        "  memcpy(y, kept_y, n * 4); memcpy(t, kept_t, n * 8); return; }"
        f"{work} held = n; memcpy(kept_x, x, n * 4); memcpy(kept_s, s, n * 8);"
        "memcpy(kept_y, y, n * 4); memcpy(kept_t, t, n * 8);",
        "#include <string.h>",
    )
    assert abs(ratio(await lab.time(kernel(work), keeps))) < 0.69


FOUND_OUT = {
    "writes only into outputs that hold no number": (
        kernel(f"if (y[0] == y[0]) return; {LOOP}"),
        r"^4096, normal: [yt]\[\d+\] is .* \(timed outputs\)$",
    ),
    "remembers a few inputs and returns when they have not changed": (
        kernel(
            "static float first, last; static float *seen;"
            f"if (seen == x && first == x[0] && last == x[n - 1]) return; {LOOP}"
            "seen = x; first = x[0]; last = x[n - 1];"
        ),
        r"\(timed outputs\)|\(poisoned outputs after timing\)",
    ),
    "works only when much has changed since the last call": (
        kernel(
            "static float seen[8192]; long changed = 0;"
            "for (long i = 0; i < n; i++) { changed += seen[i] != x[i]; seen[i] = x[i]; }"
            f"if (changed <= 2 && y[0] == y[0]) return; {LOOP}"
        ),
        r"\(timed outputs\)$",
    ),
    "is right for the first calls only": (
        kernel(f"static int calls; {LOOP} if (calls++ > 20) y[n / 2] = 0.0f;"),
        r"y\[2048\] is 0, should be .*\(timed outputs\)",
    ),
    "changes its input while timed": (
        kernel(f"static int calls; {LOOP} if (calls++ == 20) x[9] = 0.0f;"),
        r"changed its input x\[\d+\]",
    ),
    "writes past the end while timed": (
        kernel(f"static int calls; {LOOP} if (calls++ == 20) y[n] = 0.0f;"),
        r"wrote past the end of y, at y\[4096\] \(timing\)",
    ),
    "crashes while timed": (
        kernel(f"static int calls; {LOOP} if (calls++ == 20) *(volatile int *)8 = 1;"),
        r"^4096, normal: crashed with SIG(SEGV|BUS) \(timing\)",
    ),
    "ends the process while timed": (
        kernel(f"static int calls; {LOOP} if (calls++ == 20) _Exit(0);"),
        r"ended the process instead of returning \(timing\)",
    ),
}


@pytest.mark.parametrize("what", FOUND_OUT)
async def test_a_candidate_that_is_right_until_it_is_timed_is_found_out(lab: Lab, what: str) -> None:
    source, said = FOUND_OUT[what]
    with pytest.raises(CheckFailed, match=said):
        await lab.time(RIGHT, source, processes=2)


@linux_only
async def test_threads_that_outlive_the_call_are_refused(lab: Lab) -> None:
    before = "#include <pthread.h>\n#include <unistd.h>\nstatic void *stay(void *p) { for (;;) pause(); return p; }"
    source = kernel(f"static pthread_t other; if (!other) pthread_create(&other, NULL, stay, NULL); {LOOP}", before)
    with pytest.raises(CheckFailed, match=r"left \d threads running"):
        await lab.time(RIGHT, source)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="sets a register of x86")
@pytest.mark.parametrize("first", [0, 1])
async def test_a_candidate_cannot_change_how_the_incumbent_rounds(lab: Lab, first: int) -> None:
    """One that flushes denormals to zero when it is loaded would make this incumbent wrong; in a call it is refused."""
    wary = kernel(f"volatile float tiny = 1e-40f; if (tiny * 1.0f == 0.0f) return; {LOOP}")
    sets, include = "_mm_setcsr(_mm_getcsr() | 0x8040);", "#include <immintrin.h>\n"
    poison = kernel(LOOP, f"{include}__attribute__((constructor)) static void early(void) {{ {sets} }}")
    assert await lab.time(wary, poison, first=first)
    with pytest.raises(CheckFailed, match="returned with other modes of the processor"):
        await lab.time(wary, kernel(f"{sets} {LOOP}", include), first=first)


@linux_only
async def test_a_process_that_other_work_disturbs_is_tainted(lab: Lab) -> None:
    """Long calls, and somebody else on the same CPU: no batch passes without losing it."""
    long = kernel(f"for (volatile int r = 0; r < 4000; r++) {{ {LOOP} }}")
    spin = f"import os\nos.sched_setaffinity(0, {lab.where.cpus})\nwhile True: pass"
    others = [await asyncio.create_subprocess_exec(sys.executable, "-c", spin) for _ in range(2)]
    try:
        (sample,) = await lab.time(long, long)
    finally:
        for other in others:
            other.kill()
            await other.wait()
    assert "other work took the CPU" in sample.taint


async def test_time_that_the_hypervisor_took_is_a_taint() -> None:
    def case(steal: int) -> dict[str, CaseReport]:
        return {"c": CaseReport(1, (50_000_000,) * 2, (50_000_000,) * 2, steal, 1)}

    assert taint(case(2)) == ""
    assert taint(case(3)) == "the hypervisor took the CPU for 30 of 200 ms"


def pair(lab: Lab, job: str, processes: int, built: str) -> AsyncGenerator[ProcessSample]:
    return time_pair(lab.host, lab.harness, built, built, job, 0, processes, FEW, QUICK, replace(lab.where, lease=CPU))


async def all_of(samples: AsyncGenerator[ProcessSample]) -> list[ProcessSample]:
    return [sample async for sample in samples]


async def some_of(samples: AsyncGenerator[ProcessSample], count: int) -> list[ProcessSample]:
    taken = []
    async with aclosing(samples):
        async for sample in samples:
            taken.append(sample)
            if len(taken) == count:
                break
    return taken


async def test_a_job_is_run_once_and_read_again(lab: Lab) -> None:
    built = (await lab.build(RIGHT)).job
    assert await all_of(pair(lab, "once", 2, built)) == await all_of(pair(lab, "once", 2, built))


async def test_who_has_enough_samples_ends_the_job_which_is_read_again_as_far_as_it_came(lab: Lab) -> None:
    built = (await lab.build(RIGHT)).job
    first = await some_of(pair(lab, "endless", 5000, built), 3)
    again = await all_of(pair(lab, "endless", 5000, built))
    assert again[:3] == first
    assert [sample.process for sample in again] == list(range(len(again)))
    assert len(again) < 5000
    assert await lab.host.running() == []


async def test_a_job_that_is_killed_is_the_hosts_trouble_and_can_run_again(lab: Lab) -> None:
    built = (await lab.build(RIGHT)).job
    running = asyncio.create_task(all_of(pair(lab, "stopped", 5000, built)))
    for _ in range(1000):
        await asyncio.sleep(0.01)
        if await lab.host.kill("stopped"):
            break
    with pytest.raises(HostError, match="killed"):
        await running
    assert len(await all_of(pair(lab, "stopped", 1, built))) == 1


async def test_an_object_that_is_gone_is_the_hosts_trouble(lab: Lab) -> None:
    with pytest.raises(HostError, match="gone") as caught:
        await all_of(time_pair(lab.host, lab.harness, "build-a", "build-b", "gone", 0, 1, FEW, QUICK))
    assert caught.value.kind == "not_found"


CASE = '"reps":1,"a_ns":[1,2],"b_ns":[3,4],"lost_ns":0,"steal_ticks":0,"threads":1'
REPORT = f'{{"cases":{{"4096":{{{CASE}}}}},"problem":null}}'

DRIVERS = {
    "says nothing": ("exit 0", "did not report: 3 processes did not"),
    "says one thing less": ("[ $n = 3 ] || echo '@'", "did not report: 1 process did not"),
    "says one thing more": ("echo '@'; [ $n = 1 ] && echo '@'; exit 0", "more than 3 processes reported"),
    "says no JSON": ("echo '@ @'; sleep 60", "did not report: JSON is malformed"),
    "says other JSON": ("echo '{}'; sleep 60", "did not report: .*cases"),
    "does not end its line": ("printf %s '@'", "did not report: 3 processes did not"),
    "does not end its line, and goes on": ("head -c 17000000 /dev/zero; sleep 60", "a line of more than"),
    "dies by a signal": ("echo '@'; kill -SEGV $$", r"harness\.c crashed in the timing \(SIGSEGV\)"),
    "was killed": ("echo '@'; kill -KILL $$", "the timing driver failed"),
    "gives up": ("echo 'no seed' >&2; exit 2", "the timing driver failed: no seed"),
}


@pytest.mark.parametrize("what", DRIVERS)
async def test_a_driver_that_does_not_report_is_the_hosts_trouble(lab: Lab, tmp_path: Path, what: str) -> None:
    does, said = DRIVERS[what]
    driver = tmp_path / "driver"
    driver.write_text(f"#!/bin/sh\necho x >>count\nn=$(grep -c x count)\n{does.replace('@', REPORT)}\n")
    driver.chmod(0o755)
    built = (await lab.build(RIGHT)).job
    broken = replace(lab.harness, program=str(driver))
    with pytest.raises(HostError, match=said):
        await all_of(time_pair(lab.host, broken, built, built, f"broken-{tmp_path.name}", 0, 3, FEW, QUICK))


async def test_processes_that_do_not_come_to_an_end_are_the_candidates_fault(lab: Lab, tmp_path: Path) -> None:
    driver = tmp_path / "driver"
    driver.write_text(f"#!/bin/sh\necho '{REPORT}'\nsleep 60\n")
    driver.chmod(0o755)
    built = (await lab.build(RIGHT)).job
    stuck = replace(lab.harness, program=str(driver))
    with pytest.raises(CheckFailed, match=r"did not finish within 0\.4 s"):
        await all_of(time_pair(lab.host, stuck, built, built, "stuck", 0, 2, replace(FEW, limit_s=0.2), QUICK))


async def test_every_process_has_copies_of_its_own_of_both_objects(lab: Lab, tmp_path: Path) -> None:
    """Which pages of memory a file lies on is luck: with one copy for all, it would be the same in every process."""
    driver = tmp_path / "driver"
    driver.write_text(
        "#!/bin/sh\nwhile [ $1 != time ]; do shift; done\n"
        f"ls -i $2 $3 >> {tmp_path}/seen\nls *.so | wc -l >> {tmp_path}/there\necho '{REPORT}'\n"
    )
    driver.chmod(0o755)
    built = (await lab.build(RIGHT)).job
    looks = replace(lab.harness, program=str(driver))
    await all_of(time_pair(lab.host, looks, built, built, "copies", 0, 4, FEW, QUICK))
    seen = [line.split() for line in (tmp_path / "seen").read_text().splitlines()]
    assert len({name for _, name in seen}) == len(seen) == 8
    assert all(one[0] != other[0] for one, other in zip(seen, seen[2:], strict=False))
    assert (tmp_path / "there").read_text().split() == ["2"] * 4


async def test_what_a_driver_says_on_stderr_is_passed_on(lab: Lab, tmp_path: Path) -> None:
    driver = tmp_path / "driver"
    driver.write_text(f"#!/bin/sh\necho hello >&2\necho '{REPORT}'\n")
    driver.chmod(0o755)
    built = (await lab.build(RIGHT)).job
    talks = replace(lab.harness, program=str(driver))
    said: list[str] = []
    await all_of(time_pair(lab.host, talks, built, built, "talks", 0, 2, FEW, QUICK, say=said.append))
    assert "".join(said) == "hello\nhello\n"
