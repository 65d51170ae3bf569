"""What of a watched program counts as changed."""

from dataclasses import replace
from pathlib import Path

import pytest

from kpd.model.deployments import Deployment, DeployState
from kpd.model.projects import Drifted, ProgramSight
from kpd.production.watch import DRIFT, drifted, expected, keep_sight, last_sight
from kpd.text.projects import drift, way_back

QUIET = ProgramSight(0.0, {"k.cu": "a", "bin": "b"}, ("H100",), "580", "13.0", (1.0, 1.01, 1.02, 1.03, 1.04))


def slower(factor: float) -> ProgramSight:
    return replace(QUIET, seconds=tuple(one * factor for one in QUIET.seconds))


@pytest.mark.parametrize(
    ("now", "told"),
    [
        (slower(DRIFT + 0.001), True),
        (slower(DRIFT - 0.001), False),
        (slower(1 / (DRIFT + 0.001)), True),
        (replace(QUIET, seconds=(1.04, 1.3, 1.3, 1.3, 1.3)), False),  # one run is as fast as before
        (replace(QUIET, seconds=(1.041, 1.3, 1.3, 1.3, 1.3)), True),
    ],
)
def test_the_time_counts_where_no_run_is_among_the_others_and_the_medians_differ(now: ProgramSight, told: bool) -> None:
    assert [one.what for one in drifted(QUIET, now)] == (["time"] if told else [])


def test_what_kpd_has_deployed_since_is_as_it_should_be() -> None:
    def one(number: int, at: float, shas: dict[str, str], state: DeployState = "deployed") -> Deployment:
        return Deployment(number, "r1", 3, at - 1, state, shas=shas, ended=at)

    before = one(1, 0.0, {"k.cu": "old"})  # before it was watched
    deployed, back = one(2, 1.0, {"k.cu": "new", "bin": "built"}), one(4, 3.0, {"k.cu": "a", "bin": "b"})
    taken_back = one(3, 2.0, {"k.cu": "other"}, "rolled_back")
    assert expected(QUIET, [before, taken_back]) == QUIET
    now = replace(slower(0.5), files={"k.cu": "new", "bin": "built"})
    should = expected(QUIET, [before, deployed, taken_back])
    assert (should.files, should.seconds) == (now.files, ())
    assert not list(drifted(should, now))
    assert [one.path for one in drifted(expected(QUIET, [deployed, back]), now)] == ["bin", "k.cu"]
    assert [one.what for one in drifted(should, replace(now, driver="590"))] == ["driver"]


def test_files_gpus_driver_and_toolkit_are_told(tmp_path: Path) -> None:
    now = replace(QUIET, files={"k.cu": "c", "new": "d"}, gpus=("H200",), driver="590", cuda="13.1")
    found = list(drifted(QUIET, now))
    assert [drift(one) for one in found] == [
        "bin is gone since", "k.cu was changed since", "new is new since", "its GPUs: H100 before, H200 now",
        "its driver: 580 before, 590 now", "its CUDA toolkit: 13.0 before, 13.1 now",
    ]  # fmt: skip
    assert drift(Drifted("time", "1 s", "2 s")) == "its run took 1 s in the median, and takes 2 s now"
    assert way_back("p", 3)[0].startswith("kpd project rollback p 3 ") and len(way_back("p", None)) == 1
    keep_sight(tmp_path / "p.json", now)
    assert last_sight(tmp_path / "p.json") == now
    (tmp_path / "p.json").write_text("{")
    assert last_sight(tmp_path / "p.json") is None
