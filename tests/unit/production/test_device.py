"""Under which device's lease a program runs."""

from dataclasses import replace

import pytest

from kpd.hosts.job import LeaseRequest
from kpd.hosts.preflight.gpus import GpuInfo
from kpd.production.device import lease_for
from kpd.workspace.projects import ProjectConfig

PROJECT = ProjectConfig("gpu1", "~/p", ("a.cu", "b.cpp"), ("bin",), "target", "make", "bin", "k")
GPUS = [GpuInfo(index, uuid, "", "H100", "sm_90", 1, "580") for index, uuid in ((0, "GPU-aa1"), (1, "GPU-bb2"))]


@pytest.mark.parametrize(
    ("visible", "device"),
    [
        (None, "GPU-aa1"), ("1,0", "GPU-bb2"), ("1", "GPU-bb2"), ("GPU-bb", "GPU-bb2"), ("gpu-bb2,GPU-aa1", "GPU-bb2"),
        ("", "cpu"), ("-1", "cpu"), ("7", "cpu"),
    ],
)  # fmt: skip
def test_it_is_the_first_gpu_that_the_program_sees(visible: str | None, device: str) -> None:
    project = replace(PROJECT, env={} if visible is None else {"CUDA_VISIBLE_DEVICES": visible})
    assert lease_for(project, GPUS) == LeaseRequest(device), "what others compute there is not waited for"


def test_a_program_without_cuda_or_gpu_runs_on_the_cpu() -> None:
    assert lease_for(replace(PROJECT, files=("b.cpp",)), GPUS) == lease_for(PROJECT, []) == LeaseRequest("cpu")
