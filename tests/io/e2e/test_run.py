"""Whole runs: a real daemon, a real compiler, real measurements, driven over the real socket."""

import json

import pytest

from kpd.client import DaemonError
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.e2e.kernels import kernel, save

__all__ = ["daemon", "workspace"]


def outcomes(daemon: RealDaemon) -> list[str]:
    return [event["body"]["outcome"] for event in daemon.events("iteration_ended")]


def test_a_sweep_finds_the_fast_point_and_everything_is_kept(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    assert daemon.command("run", task="scale") == {"run": "r1"}
    ended = daemon.until_event("run_ended")
    assert ended["body"]["outcome"] == "improved"
    assert outcomes(daemon)[:2] == ["baseline", "accepted"]
    assert "#define REPEAT 1" in kernel(workspace).read_text()
    folder = workspace.iteration_folder("scale", "r1", 1)
    assert {path.name for path in folder.iterdir()} >= {
        "candidate", "diff.patch", "memo.md", "build.log", "check.json", "timing.json", "verdict.json", "metrics.json",
        "findings.json",
    }  # fmt: skip
    assert "+#define REPEAT 1" in (folder / "diff.patch").read_text()
    verdict = json.loads((folder / "verdict.json").read_text())
    assert verdict["word"] == "faster"
    assert verdict["gain"]["pct"] > 50
    shown = daemon.query("show", iteration="r1.1")
    assert shown["detail"]["judged"]["verdict"] == verdict
    assert shown["detail"]["profiled"]["metrics"]
    answer = daemon.query("rederive", iteration="r1.1")
    assert answer["rederived"] == answer["recorded"]
    assert verdict.items() <= answer["recorded"].items()
    assert not daemon.events("operator_edited"), "kpd took its own write for an edit"


def test_refusals_say_why_and_what_helps(daemon: RealDaemon) -> None:
    daemon.start()
    for verb, args, words in (
        ("run", {"task": "nope"}, "no task 'nope'"),
        ("run", {"task": "scale", "agent": "oracle"}, "no agent 'oracle'"),
        ("run", {"task": "scale", "iterations": -1}, "iterations"),
        ("run", {"task": "scale", "colour": "red"}, "colour"),
        ("pause", {}, "no run"),
        ("rollback", {"iteration": "r9.9"}, "no run yet"),
        ("dance", {}, "dance"),
    ):
        with pytest.raises(DaemonError, match=words):
            daemon.command(verb, **args)
    assert daemon.query("status"), "the daemon is still there"


def test_a_broken_task_is_refused_and_the_daemon_goes_on(daemon: RealDaemon, workspace: Workspace) -> None:
    daemon.start()
    toml = workspace.tasks / "scale" / "task.toml"
    save(toml, toml.read_text().replace("[budget]", "[budgte]"))
    errors = daemon.until(
        lambda: [error for e in daemon.events("task_loaded") if (error := e["body"]["card"]["error"])], "the refusal"
    )
    assert "budgte" in errors[0]
    with pytest.raises(DaemonError, match="budget"):
        daemon.command("run", task="scale")
