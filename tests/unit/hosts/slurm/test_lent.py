"""Which of a node's GPUs an allocation has."""

import pytest

from kpd.hosts.preflight.gpus import gpus_of, lent
from tests.support.hosts.gpu_listings import H100


@pytest.mark.parametrize(
    ("visible", "indices"),
    [
        ("0", [0]),
        ("1", [1]),
        ("0,1", [0, 1]),
        ("GPU-4c2f1c9e-6b0e-5d0c-9b1a-0d3a7e6f1a02", [1]),
        ("", []),
        ("NoDevFiles", []),
        ("10", []),
    ],
)
def test_only_the_gpus_that_slurm_names_are_used(visible: str, indices: list[int]) -> None:
    assert [gpu.index for gpu in lent(gpus_of(H100)[0], visible)] == indices
