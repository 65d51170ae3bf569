"""The first report of a job in which other processes report after it."""

import json

import pytest

from kpd.measure.bench import CheckFailed
from kpd.measure.driver.check import Report
from kpd.measure.driver.harness import Harness
from kpd.measure.driver.joined import first_report
from kpd.measure.run_context import RunContext
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
