"""The cassette of a real H100, replayed through the real pipeline: what kpd concludes of a transpose on a GPU.

Made with `python benchmarks/record_gpu.py transpose_cuda … --point TILE=32,PAD=1 --point TILE=64,PAD=1,VEC=4,ROWS=16
--point TILE=16,ROWS=4 --files does_not_compile --files leaves_an_edge`; the task as it was then lies beside it, for a
cassette answers for the very files that were built.
"""

import json
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from kpd.workspace.paths import Workspace
from tests.places import OPEN
from tests.support.cassette import gpu_machine
from tests.support.cassette.plug_in import DAEMON
from tests.support.daemon.real_daemon import RealDaemon, leftovers
from tests.support.e2e.cassettes import CASSETTES, TASK


@pytest.fixture(scope="module", name="replayed")
def _replayed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    """The run as a daemon replays it on a machine with neither a GPU nor any of its programs."""
    workspace = Workspace((tmp_path_factory.mktemp("h100") / "workspace").resolve())
    for folder in ("skills", "memory"):
        (workspace.root / folder).mkdir(parents=True)
    shutil.copytree(CASSETTES / "tasks" / TASK, workspace.tasks / TASK)
    workspace.config.write_text(
        f'[hosts.h100]\ntransport = "cassette"\ncassette = {json.dumps(str(CASSETTES / "transpose_h100"))}\n{OPEN}'
    )
    daemon = RealDaemon(workspace)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", gpu_machine.bare())
        daemon.start(DAEMON)
        daemon.command("run", task=TASK, host="h100", agent="cassette", iterations=5, patience=5)
        daemon.until_event("iteration_ended", iteration=5)
        daemon.command("stop", run="r1")  # the cassette has no contest of the best against the baseline
        daemon.until_event("run_ended")
        yield daemon
        daemon.stop()
    assert not leftovers(workspace)


def bodies(replayed: RealDaemon, kind: str) -> dict[int, dict[str, Any]]:
    return {event["body"]["iteration"]: event["body"] for event in replayed.events(kind)}


def test_every_candidate_meets_its_end(replayed: RealDaemon) -> None:
    ended = bodies(replayed, "iteration_ended")
    outcomes = [ended[number]["outcome"] for number in range(6)]
    assert outcomes == ["baseline", "accepted", "accepted", "rejected", "failed", "rejected"]
    assert ended[4]["reason"] == 'does not build: kernel.cu(43): identifier "collumns" is undefined'
    assert "square_1024, normal: out[1023] is unwritten" in ended[5]["reason"]


def test_the_transpose_comes_near_the_bandwidth_of_a_copy(replayed: RealDaemon) -> None:
    timed = bodies(replayed, "timed")
    (square,) = [case for case in timed[2]["cases"] if case["case"] == "square_4096"]
    assert square["roofline_us"] / square["candidate_us"] > 0.85
    assert 0.9 < square["device_us"] / square["candidate_us"] <= 1.0, "no launch holds it up"
    gains = {number: judged["verdict"]["gain"]["pct"] for number, judged in bodies(replayed, "judged").items()}
    assert gains[1] > 70 > gains[2] > 10 > 0 > gains[3]


def test_the_naive_kernel_is_told_what_is_wrong_with_it(replayed: RealDaemon) -> None:
    explained = bodies(replayed, "explained")
    baseline = {finding["rule"]: finding for finding in explained[0]["findings"]}
    assert baseline["uncoalesced_store"]["severity"] == "high"
    assert baseline["uncoalesced_store"]["evidence"]["sectors_per_store"] == pytest.approx(32, abs=1)
    assert not {"launch_bound", "low_tensor_use", "register_spill"} & baseline.keys()
    assert explained[0]["bottleneck"].startswith("memory bound: L2 at ")
    assert "uncoalesced_store" not in {finding["rule"] for finding in explained[1]["findings"]}
    stores = next(change for change in explained[1]["changes"] if change["metric"] == "sectors_per_store")
    assert (round(stores["before"]), round(stores["after"])) == (32, 4)


def test_counters_of_every_candidate_and_advice_for_incumbents(replayed: RealDaemon) -> None:
    profiled = bodies(replayed, "profiled")
    assert sorted(profiled) == [0, 1, 2, 3], "what does not build, or is wrong, is not profiled"
    for number, found in profiled.items():
        metrics = found["metrics"]
        assert {"dram_pct", "occupancy_pct", "stall_long_scoreboard", "ptxas_registers"} <= metrics.keys()
        assert 0 < metrics["dram_pct[square_4096]"] <= 100
        stalls = sum(value for name, value in metrics.items() if name.startswith("stall_") and "[" not in name)
        assert stalls == pytest.approx(1, abs=0.05), "shares of a warp's time"
        assert bool(found["advice"]) == (number < 3), number
        report = replayed.workspace.iteration_folder(TASK, "r1", number) / "report.ncu-rep"
        assert report.read_bytes()


def test_it_is_marked_as_a_replay_wherever_it_shows(replayed: RealDaemon) -> None:
    assert replayed.events("run_started")[0]["body"]["device"] == "NVIDIA H100 80GB HBM3 (replayed)"
    assert "NVIDIA H100 80GB HBM3 (replayed)" in (replayed.workspace.run_folder(TASK, "r1") / "report.md").read_text()
