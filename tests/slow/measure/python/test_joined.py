"""A check and its contest, and repeats and the first audit, in one job each: what takes long is imported once."""

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from kpd.hosts.errors import LostBuild
from kpd.measure import jobs
from kpd.measure.bench import BuiltObject, CheckFailed
from kpd.measure.driver.bench import DriverBench
from kpd.measure.driver.harness import OBJECT
from kpd.measure.driver.joined import AHEAD
from kpd.measure.driver.timing import lines
from kpd.measure.judge import CLEAR
from kpd.measure.python.host.turns import LATE
from kpd.workspace.run_files import read_files
from tests.support.measure.measured import local_host
from tests.support.measure.python_tasks import TOML, built, ready, small_task

SUM = "def kernel(a, b):\n    return a + a + b\n"
WRONG_LATER = """
calls = []
def kernel(a, b):
    calls.append(0)
    return a + a + b if len(calls) < 90 else b
"""
LEAVES = """
import os, sys, time
from kpd.measure.python.host.turns import adopt, in_child
def work():
    if sys.argv[1] == "late":
        time.sleep(600)
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
        os._exit(0)
    return 3
adopt()
print(in_child(work, 2.0))
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("none")
"""


def append(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"more")


async def own(bench: DriverBench) -> BuiltObject:
    files = read_files(bench.task.folder, bench.task.editable)
    return await bench.build(await bench.stage(files), files, print)


@asynccontextmanager
async def contested(folder: Path) -> AsyncIterator[tuple[DriverBench, str, str]]:
    """A bench whose driver forks, and the builds of two kernels, of which the other one's check goes on."""
    async with local_host(folder / "host") as host:
        bench = await ready(host, small_task(folder))
        object.__setattr__(bench.harness, "forks", True)
        mine, other = (await own(bench)).job, await built(bench, {"kernel.py": SUM})
        await bench.check(other, "check", print, partial(own, bench))
        yield bench, mine, other


@pytest.mark.asyncio
async def test_the_contest_goes_on_in_the_job_of_the_check(tmp_path) -> None:
    async with local_host(tmp_path / "host") as host:
        bench = await ready(host, small_task(tmp_path))
        object.__setattr__(bench.harness, "forks", True)
        mine, other = (await own(bench)).job, await built(bench, {"kernel.py": SUM})
        incumbent = partial(own, bench)
        passed = await bench.check(other, "check", print, incumbent)
        assert passed.worst <= 1 and passed.spent["import"] > 0
        samples = []
        async for sample in bench.time(mine, other, "time0", 0, 30, print):
            samples.append(sample)
            if len(samples) == 3:
                break
        assert [one.process for one in samples] == [0, 1, 2]
        assert all("import" not in one.spent for one in samples)  # that is the check's alone
        taken = {path.name for path in (tmp_path / "host" / "jobs").iterdir()}
        assert "check" in taken and "time0" not in taken
        await bench.forget("time0")
        assert "check" not in {path.name for path in (tmp_path / "host" / "jobs").iterdir()}
        assert await anext(bench.time(mine, other, "time0", 0, 1, print))  # a retry measures anew
        calls = await bench.repeat(other, "audit-repeats", print, mine)
        found = await bench.audit(mine, other, "audit-audit", print)
        assert calls["small"] > 4 and found.fresh["small"].compared and len(found.alone) >= 4
        assert {path.name for path in (tmp_path / "host" / "jobs").glob("audit-*")} == {"audit-repeats"}
        assert (await bench.audit(mine, other, "audit-audit-2", print, alone=False)).fresh["small"]
        assert {path.name for path in (tmp_path / "host" / "jobs").glob("audit-*")} == {
            "audit-repeats",
            "audit-audit-2",
        }


@pytest.mark.asyncio
@pytest.mark.parametrize("settled", [CLEAR - 1, CLEAR, CLEAR + 2])
async def test_audits_go_on_in_the_job_of_the_contest(tmp_path, settled: int) -> None:
    """They stand where a clear gain is accepted, and are read there whenever it is."""
    async with contested(tmp_path) as (bench, mine, other):
        samples = bench.time(mine, other, "time0", 0, 30, print, leave=lambda: True)
        taken = [await anext(samples) for _ in range(settled)]
        await samples.aclose()
        assert [one.process for one in taken] == list(range(settled))
        calls = await bench.repeat(other, "audit-repeats", print, mine)
        found = await bench.audit(mine, other, "audit-audit", print)
        assert calls["small"] > 4 and found.fresh["small"].compared and len(found.alone) >= 4
        assert not {path.name for path in (tmp_path / "host" / "jobs").glob("audit-*")}
        await bench.repeat(other, "audit-repeats", print, mine)
        assert (tmp_path / "host" / "jobs" / "audit-repeats").exists(), "what was read is not read again"


@pytest.mark.asyncio
async def test_audits_that_nobody_reads_are_ended_by_the_next_check(tmp_path) -> None:
    async with contested(tmp_path) as (bench, mine, other):
        samples = bench.time(mine, other, "time0", 0, 30, print, leave=lambda: True)
        await anext(samples)
        await samples.aclose()
        assert await bench.host.running() == ["check"]
        await bench.check(other, "check-of-another", print, partial(own, bench))
        assert await bench.host.running() == ["check-of-another"]
        await bench.repeat(other, "audit-repeats", print, mine)
        assert (tmp_path / "host" / "jobs" / "audit-repeats").exists(), "the other one's are not its"


@pytest.mark.asyncio
async def test_a_contest_that_nobody_leaves_is_ended_and_is_audited_in_another_job(tmp_path) -> None:
    async with contested(tmp_path) as (bench, mine, other):
        samples = bench.time(mine, other, "time0", 0, 30, print)
        await anext(samples)
        await samples.aclose()
        assert not await bench.host.running()
        await bench.repeat(other, "audit-repeats", print, mine)
        assert (tmp_path / "host" / "jobs" / "audit-repeats").exists()


@pytest.mark.asyncio
async def test_nothing_is_audited_of_a_candidate_that_is_wrong_in_the_repeats(tmp_path) -> None:
    async with local_host(tmp_path / "host") as host:
        bench = await ready(host, small_task(tmp_path))
        object.__setattr__(bench.harness, "forks", True)
        wrong = await built(bench, {"kernel.py": WRONG_LATER})
        with pytest.raises(CheckFailed, match=r"out.* should be"):
            await bench.repeat(wrong, "wrong", print, (await own(bench)).job)
        assert (tmp_path / "host" / "jobs" / "wrong" / "stdout").read_text().count("\n") == 1
        assert await bench.repeat((await own(bench)).job, "baseline", print)  # which has nobody to be audited against
        assert (tmp_path / "host" / "jobs" / "baseline" / "stdout").read_text().count("\n") == 1


@pytest.mark.asyncio
async def test_a_kernel_that_is_not_as_it_was_built_is_not_timed(tmp_path) -> None:
    async with local_host(tmp_path / "host") as host:
        bench = await ready(host, small_task(tmp_path))
        object.__setattr__(bench.harness, "forks", True)
        mine, other = (await own(bench)).job, await built(bench, {"kernel.py": SUM})
        append(Path(jobs.out(host, other, OBJECT)))
        with pytest.raises(LostBuild):
            await anext(bench.time(mine, other, "time0", 0, 1, print))


@pytest.mark.asyncio
async def test_nothing_is_timed_of_a_candidate_that_does_not_pass(tmp_path) -> None:
    async with local_host(tmp_path / "host") as host:
        bench = await ready(host, small_task(tmp_path))
        object.__setattr__(bench.harness, "forks", True)
        wrong = await built(bench, {"kernel.py": "def kernel(a, b):\n    return a + b"})
        with pytest.raises(CheckFailed, match=r"out.* should be"):
            await bench.check(wrong, "wrong", print, partial(own, bench))
        assert (tmp_path / "host" / "jobs" / "wrong" / "stdout").read_text().count("\n") == 1


@pytest.mark.asyncio
async def test_a_check_that_takes_too_long_ends_with_its_limit(tmp_path) -> None:
    async with local_host(tmp_path / "host") as host:
        toml = TOML.replace("seeds = 1", "seeds = 1\nlimit_s = 3")
        bench = await ready(host, small_task(tmp_path, toml=toml))
        object.__setattr__(bench.harness, "forks", True)
        slow = await built(bench, {"kernel.py": f"import time\ntime.sleep(100)\n{SUM}"})
        with pytest.raises(CheckFailed, match="3 s"):
            await bench.check(slow, "slow", print, partial(own, bench))


@pytest.mark.parametrize(("how", "status"), [("leaves", 3), ("late", LATE)])
def test_nothing_is_left_of_a_process_that_has_ended(how: str, status: int) -> None:
    said = subprocess.run([sys.executable, "-c", LEAVES, how], capture_output=True, text=True, timeout=60, check=True)
    assert said.stdout.split() == [str(status), "none"]


def test_a_job_has_a_line_for_each_process() -> None:
    assert [line.split()[1:3] for line in lines(0, 3).decode().splitlines()] == [["a", "-"], ["b", "-"], ["a", "-"]]
    assert lines(0, AHEAD).count(b"\n") == AHEAD
