"""A whole run recorded on a machine that passes for one with a GPU, and replayed on one without: the same run again."""

import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kpd.daemon.store import EventStore
from kpd.model.codec import event_to_json, fact_from
from kpd.workspace.paths import Workspace
from tests.places import OPEN
from tests.support.cassette import gpu_machine
from tests.support.cassette.plug_in import DAEMON
from tests.support.cassette.scrub import REPLAYED_GPU
from tests.support.daemon.real_daemon import RealDaemon, leftovers
from tests.support.measure.cuda_measured import LOOP, RIGHT, kernel, task_folder

pytestmark = pytest.mark.alone  # recording measures for a minute, and far longer beside other tests
BUDGET = {"iterations": 9, "patience": 9}
COMPARED = (
    "iteration_started", "proposed", "screened", "built", "checked", "timed", "judged", "profiled", "explained",
    "accepted", "iteration_ended",
)  # fmt: skip
ELSEWHERE = ("agent", "seconds", "overhead_s", "job", "cached", "flags", "hashes")
"""What of an event is of the machine, of the moment, of who proposed, or of an object, which a replay does not have."""
BY_TIME = ("seconds", "whole", "processes", "alone")
"""What of an audit depends on how many processes there was time for."""


def loops(number: int) -> str:
    return kernel(f"for (volatile int r = 0; r < {number}; r++) {{ {LOOP} }}")


CANDIDATES = {
    "does not build": kernel("y[i] = nowhere;"),
    "wrong": kernel(LOOP.replace("+", "-")),
    "slower": loops(60),
    "faster": loops(2),
}


@dataclass(frozen=True)
class Made:
    task: Path
    cassette: Path
    events: list[dict[str, Any]]
    said: str


@pytest.fixture(scope="module", name="made")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A task whose baseline is slow, of small cases, so that other work on the CPU disturbs few batches."""
    root = tmp_path_factory.mktemp("recorded")
    task = task_folder(root)
    (task / "kernel.cu").write_text(loops(20))
    (task / "harness.cu").write_text((task / "harness.cu").read_text().replace("20011", "4099"))
    toml = task / "task.toml"  # what is replayed is no object that could be inspected
    toml.write_text(toml.read_text().replace("[check]\n", '[check]\nflagged = "note"\n'))
    given = {name: {"kernel.cu": text} for name, text in CANDIDATES.items()}
    said = gpu_machine.record(task, root / "cassette", root / "machine", given)
    return Made(task, root / "cassette", log_of(Workspace(root / "machine" / "kept" / "workspace")), said)


@pytest.fixture(name="daemon")
def _daemon(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RealDaemon]:
    """On a machine with neither nvidia-smi nor nvcc nor ncu."""
    monkeypatch.setenv("PATH", gpu_machine.bare())
    assert not [name for name in ("nvidia-smi", "nvcc", "ncu") if shutil.which(name)]
    workspace = Workspace((tmp_path / "workspace").resolve())
    for folder in ("skills", "memory"):
        (workspace.root / folder).mkdir(parents=True)
    shutil.copytree(made.task, workspace.tasks / "blend")
    shutil.copytree(made.cassette, workspace.root / "cassette")
    workspace.config.write_text('[hosts.demo]\ntransport = "cassette"\ncassette = "cassette"\n' + OPEN)
    running = RealDaemon(workspace)
    yield running
    running.stop()
    assert not leftovers(workspace)


def log_of(workspace: Workspace) -> list[dict[str, Any]]:
    """All events as they lie in the log, without the sentences that answers of a daemon carry besides."""
    with EventStore(workspace.store, read_only=True) as store:
        return [json.loads(event_to_json(event)) for event in store.read()]


def body_of(event: dict[str, Any]) -> dict[str, Any]:
    body = {key: value for key, value in event["body"].items() if key not in ELSEWHERE}
    if body.get("audited"):
        body["audited"] = {key: value for key, value in body["audited"].items() if key not in BY_TIME}
    return body


def essence(events: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    return [(event["kind"], body_of(event)) for event in events if event["kind"] in COMPARED]


def test_the_run_is_replayed_as_it_was(made: Made, daemon: RealDaemon) -> None:
    daemon.start(DAEMON)
    daemon.command("run", task="blend", host="demo", agent="cassette", **BUDGET)
    ended = daemon.until_event("run_ended")["body"]
    assert (ended["outcome"], ended["reason"]) == ("improved", "all 4 candidates of the cassette have been replayed")
    events = [
        event for event in log_of(daemon.workspace) if event["body"].get("iteration") != 5
    ]  # nothing is left to propose
    for event in events:
        if event["body"].get("iteration") == 6:
            event["body"]["iteration"] = 5
    assert essence(events) == essence(made.events)
    outcomes = [event["body"]["outcome"] for event in daemon.events("iteration_ended")]
    assert outcomes == ["baseline", "failed", "rejected", "rejected", "accepted", "skipped", "measured"]
    profiled = daemon.events("profiled")
    assert len(profiled) == 3 and all(event["body"]["metrics"]["dram_pct"] > 0 for event in profiled)
    started = daemon.events("run_started")[0]["body"]
    assert (started["device"], started["device_id"]) == (f"{gpu_machine.NAME} (replayed)", REPLAYED_GPU)
    (card,) = [card for card in daemon.query("hosts") if card["name"] == "demo"]
    assert card["transport"] == "cassette"
    checks = {check["name"]: check for check in card["checks"]}
    assert checks["gpu counters"]["found"] == "ncu reads the counters"
    report = (daemon.workspace.run_folder("blend", "r1") / "report.md").read_text()
    assert "(replayed)" in report
    daemon.command("rollback", iteration="r1.0")
    again = daemon.command("run", task="blend", host="demo", agent="cassette", **BUDGET)["run"]
    daemon.until_event("run_ended", run=again)
    first, second = (
        [event["body"]["verdict"] for event in daemon.events("judged") if event["body"]["run"] == run]
        for run in ("r1", again)
    )
    assert first == second, "a cassette can be replayed any number of times"


def test_a_candidate_that_was_never_recorded_is_not_to_blame(daemon: RealDaemon) -> None:
    daemon.start(DAEMON)
    daemon.command("run", task="blend", host="demo", agent="operator")
    daemon.until_event("folder_known")
    (daemon.workspace.tasks / "blend" / "kernel.cu").write_text(RIGHT + "// new\n")
    paused = daemon.until_event("run_paused")["body"]
    assert "this cassette does not hold a build of this code (harness.cu, kernel.cu)" in paused["reason"]
    assert not [event for event in daemon.events("iteration_ended") if event["body"]["iteration"] == 1]


def test_a_damaged_cassette_is_trouble_with_the_host(daemon: RealDaemon) -> None:
    path = daemon.workspace.root / "cassette" / "answers.jsonl"
    path.write_text(path.read_text().replace('"status": 0', '"status": null', 1))
    daemon.start(DAEMON)
    down = daemon.until(lambda: [c for c in daemon.query("hosts") if c["trouble"] == "config"], "the host's trouble")
    assert "answers.jsonl:1" in down[0]["error"]
    assert "correct `cassette` in config.toml" in down[0]["error"]


def lacking(made: Made, folder: Path) -> Path:
    """The cassette with one answer to the odd processes of its first contest, and many to the even ones."""
    shutil.copytree(made.cassette, folder)
    path = folder / "answers.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    timed = {at: key for at, line in enumerate(lines) if (key := timings_key(line))}
    (_, odd), (second, _), *_ = timed.items()
    for at in [at for at, key in timed.items() if key == odd][1:]:
        lines[at] = lines[second]
    path.write_text("".join(lines))
    return folder


def timings_key(line: str) -> str:
    answer = json.loads(line)
    return str(answer["key"]) if answer["words"] == "timings of this pair" else ""


def test_a_cassette_that_lacks_a_process_is_never_replayed(made: Made, tmp_path: Path) -> None:
    cassette = lacking(made, tmp_path / "cassette")
    program = gpu_machine.ROOT / "benchmarks" / "replay_cassette.py"
    env = {**os.environ, "PATH": gpu_machine.bare(), "PYTHONPATH": str(gpu_machine.ROOT)}
    done = subprocess.run(
        [sys.executable, program, made.task, cassette], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "the cassette has no more timings of this pair: it has 1" in done.stderr


def test_the_recorder_refuses_what_replays_otherwise(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(gpu_machine.ROOT / "benchmarks")
    monkeypatch.setenv("PATH", gpu_machine.bare())
    recorder = importlib.import_module("record_gpu")
    was = recorder.gist([fact_from(event["kind"], json.dumps(event["body"])) for event in made.events])
    recorder.refuse_another(was, made.task, made.cassette)
    was[4]["disturbed"] += 1  # by other processes, say, whom nobody sees in a cassette
    with pytest.raises(SystemExit, match=r"not replay as it was recorded.* disturbed of iteration 4: \d+ became \d+"):
        recorder.refuse_another(was, made.task, made.cassette)


def test_the_cassette_is_small_and_says_nothing_of_who_made_it(made: Made) -> None:
    files = [path for path in made.cassette.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 400_000
    assert gpu_machine.SECRET not in "".join(path.read_text(errors="replace") for path in files)
    assert "NVIDIA H100 80GB HBM3, driver 580.159.04, CUDA 13.0, ncu 2025.3.1.0: 4 candidates of blend" in made.said
