"""Decides which device a project's program runs on: nothing else of kpd's measures there while it runs."""

from collections.abc import Sequence

from kpd.hosts.job import LeaseRequest
from kpd.hosts.preflight.gpus import GpuInfo
from kpd.workspace.projects import ProjectConfig

CUDA = (".cu", ".cuh")
VISIBLE = "CUDA_VISIBLE_DEVICES"


def is_cuda(project: ProjectConfig) -> bool:
    return any(path.endswith(CUDA) for path in project.files)


def lease_for(project: ProjectConfig, gpus: Sequence[GpuInfo]) -> LeaseRequest:
    """Return the lease under which the program runs: on the first GPU that it sees, or on the CPU. Pure.

    Compute processes of others are not waited for: a program in production may have a server that stays.
    """
    seen = [gpu.uuid for gpu in gpus if VISIBLE not in project.env or _named(gpu, project.env[VISIBLE])]
    return LeaseRequest(seen[0] if seen and is_cuda(project) else "cpu")


def _named(gpu: GpuInfo, visible: str) -> bool:
    """Return whether a GPU is the first one in a value of CUDA_VISIBLE_DEVICES, which may shorten a UUID."""
    first = visible.partition(",")[0].strip().lower()
    return first == str(gpu.index) or (first.startswith("gpu-") and gpu.uuid.lower().startswith(first))
