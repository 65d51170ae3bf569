"""What a host reports of its GPU while it measures."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kpd.hosts.host import Host, JobResult, JobSpec, LeaseRequest
from kpd.measure.reports import reports
from tests.support.hosts.gpu_leases import Smi
from tests.support.measure.measured import local_host


@pytest.fixture(name="nvidia")
def _nvidia(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Smi:
    stand_in = Smi(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    return stand_in


@pytest.fixture(name="host")
async def _host(nvidia: Smi, tmp_path: Path) -> AsyncIterator[Host]:
    async with local_host(tmp_path / "host") as host:
        yield host


async def read(host: Host, script: str, lease: LeaseRequest) -> tuple[list[tuple[str, str]], JobResult]:
    """Each line with its taint, and how the job ended."""
    found, end = [], None
    async for report in reports(host, JobSpec("measures", script, 30.0, lease=lease)):
        if isinstance(report, JobResult):
            end = report
        else:
            found.append((report.text.decode(), report.taint))
    assert end is not None
    return found, end
