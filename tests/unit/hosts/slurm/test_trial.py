"""What a trial allocation tells of a cluster."""

from pathlib import PurePosixPath

import pytest

from kpd.hosts.slurm import trial
from kpd.hosts.slurm.keys import SlurmKeys

KEYS = SlurmKeys("10", partition="gpu", account="kernels")


@pytest.mark.parametrize(
    ("rc", "said", "state", "tells"),
    [
        (0, "gpu*|up|1:00:00|2|gpu:h100:8|96|1000000\n", "ok", "gpu* up: 2 nodes with gpu:h100:8, 96 CPUs"),
        (0, "gpu|down|1:00:00|2|gpu:h100:8|96|1000\n", "bad", "gpu down"),
        (0, "", "bad", "sinfo knows no gpu"),
        (127, "", "bad", "sinfo failed: not found"),
    ],
)
def test_a_partition_takes_jobs_or_not(rc: int, said: str, state: str, tells: str) -> None:
    found = trial.partition(KEYS, rc, said, "not found")
    assert found.state == state and tells in found.found and bool(found.remedy) is (state == "bad")


@pytest.mark.parametrize(
    ("rc", "said", "state", "tells"),
    [
        (0, "kernels|normal|4|8||gres/gpu=600|\n", "ok", "account=kernels qos=normal maxjobs=4"),
        (0, "others|normal|||||\n", "bad", "kernels is no account of yours"),
        (0, "", "off", "does not limit"),
        (1, "", "off", "does not limit"),
    ],
)
def test_accounts_and_their_limits_are_told_where_slurm_keeps_them(rc: int, said: str, state: str, tells: str) -> None:
    found = trial.limits(KEYS, rc, said)
    assert found.state == state and tells in found.found


def test_a_root_that_the_login_node_does_not_see_is_told() -> None:
    root = PurePosixPath("/home/me")
    assert trial.shared(root, True).state == "ok" and trial.shared(root, False).state == "off"
