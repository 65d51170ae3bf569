"""A toolkit that sandboxed jobs may not read is the host's trouble, with a remedy, and no fault of the task."""

from pathlib import Path, PurePosixPath

import pytest

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.hosts.local import Local
from kpd.measure.cuda.bench import harness
from kpd.measure.cuda.nvcc import CudaToolchain
from kpd.workspace.task import load_task
from tests.support.measure.cuda_measured import task_folder


async def test_the_folder_of_a_toolkit_outside_the_systems_has_to_be_named(tmp_path: Path) -> None:
    nvcc = tmp_path / "toolkit" / "bin" / "nvcc"
    nvcc.parent.mkdir(parents=True)
    nvcc.write_text("#!/bin/sh\nexit 3\n")
    nvcc.chmod(0o755)
    host = Host("box", PurePosixPath(tmp_path / "host"), Local(), leases=str(tmp_path / "leases"))
    await host.connect()
    try:
        with pytest.raises(HostError, match="cannot be run in kpd's sandbox") as caught:
            await harness(host, CudaToolchain(str(nvcc), "13.0", "sm_90", ""), load_task(task_folder(tmp_path)))
    finally:
        await host.close()
    assert caught.value.kind == "no_compiler"
    assert "`cuda_home`, or what it needs as `reads`, in [hosts.box]" in caught.value.remedy
