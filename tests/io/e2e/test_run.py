"""Whole runs: a real daemon, a real compiler, real measurements, driven over the real socket."""

import pytest

from kpd.client import DaemonError
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.e2e.kernels import save

__all__ = ["daemon", "workspace"]


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
