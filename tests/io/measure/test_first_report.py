"""The first report of a job in which other processes report after it, or that does not come to it."""

import json
import sys
from dataclasses import replace

import pytest

from kpd.hosts.errors import HostError
from kpd.measure.bench import CheckFailed
from kpd.measure.driver.audits import Audited, AuditJob, audit, repeated
from kpd.measure.driver.check import Report
from kpd.measure.driver.harness import Harness
from kpd.measure.driver.joined import first_report
from kpd.measure.driver.timing import samples_of
from kpd.measure.run_context import RunContext
from kpd.workspace.specs import BenchSpec, CheckSpec
from tests.support.measure.measured import local_host

PROBLEM = {
    "kind": "raised", "who": "candidate", "case": "small", "distribution": "normal", "when": "check",
    "message": "ValueError: not right", "signal": 0,
}  # fmt: skip


@pytest.mark.asyncio
async def test_a_later_report_is_not_taken_for_the_first_one(tmp_path) -> None:
    first, later = json.dumps({"problem": PROBLEM}), json.dumps({"problem": None})
    async with local_host(tmp_path / "host") as host:
        spec = RunContext().spec("job", f"echo '{first}'\necho '{later}'\nexit 1\n", 20.0)
        with pytest.raises(CheckFailed, match="ValueError: not right"):
            await first_report(host, Harness("", "", ()), spec, Report, "check", 20.0)


@pytest.mark.asyncio
async def test_a_report_after_the_first_one_is_read_by_its_number(tmp_path) -> None:
    """Whether there is a problem in it or not; one that does not come says nothing of a candidate."""
    first, later = json.dumps({"problem": None}), json.dumps({"problem": PROBLEM})
    async with local_host(tmp_path / "host") as host:
        spec = RunContext().spec("job", f"echo '{first}'\necho '{first}'\necho '{later}'\nexit 1\n", 20.0)
        for number in (0, 1):
            assert await first_report(host, Harness("", "", ()), spec, Report, "audit", 20.0, number=number)
        with pytest.raises(CheckFailed, match="ValueError: not right"):
            await first_report(host, Harness("", "", ()), spec, Report, "audit", 20.0, number=2)
        with pytest.raises(HostError, match="did not report"):
            await first_report(host, Harness("", "", ()), spec, Report, "audit", 20.0, number=3)


@pytest.mark.asyncio
async def test_what_is_wrong_in_an_audit_among_the_processes_of_a_contest_is_told_by_the_contest(tmp_path) -> None:
    """It stands where a clear gain is accepted. Where the contest goes on, it is read, and is no sample."""
    sample = json.dumps({"cases": {"small": {"reps": 1, "a_ns": [1], "b_ns": [1], "steal_ticks": 0, "threads": 1}}})
    sample, audited = sample[:-1] + ', "problem": null}', json.dumps({"problem": None, "calls": {"small": 4}})
    wrong = json.dumps({"problem": PROBLEM})
    async with local_host(tmp_path / "host") as host:

        async def taken(name: str, *lines: str, rc: int = 0) -> int:
            spec = RunContext().spec(name, "".join(f"echo '{line}'\n" for line in lines) + f"exit {rc}\n", 20.0)
            found = samples_of(host, Harness("", "", ()), spec, 0, 2, None, {0, 2})
            return len([sample async for sample in found])

        assert await taken("right", audited, sample, audited, sample) == 2
        with pytest.raises(CheckFailed, match="ValueError: not right"):
            await taken("wrong", audited, sample, wrong, rc=1)


@pytest.mark.asyncio
@pytest.mark.parametrize("read", [repeated, audit])
async def test_an_audit_that_meets_trouble_of_the_host_is_measured_anew(tmp_path, read) -> None:
    """Else a retry would read it for ever."""
    async with local_host(tmp_path / "host") as host:
        spec = RunContext().spec("job", "echo this is no report; echo nor is this\n", 20.0)
        what = Audited(host, Harness("", "", ()), "a", "b", BenchSpec(), CheckSpec(), RunContext())
        with pytest.raises(HostError, match="did not report"):
            await read(AuditJob(what, spec, read is repeated))
        assert not (tmp_path / "host" / "jobs" / "job").exists()


@pytest.mark.asyncio
async def test_a_candidate_is_told_that_its_job_took_too_much_memory(tmp_path) -> None:
    takes = "kept = bytearray(b'x') * (96 << 20); import time; time.sleep(60)"
    async with local_host(tmp_path / "host") as host:
        spec = RunContext().spec("job", f'exec {sys.executable} -S -c "{takes}"\n', 20.0)
        with pytest.raises(CheckFailed, match="the check took more than 1/2 of the host's memory"):
            await first_report(host, Harness("", "", ()), replace(spec, memory=64 << 20), Report, "check", 20.0)
