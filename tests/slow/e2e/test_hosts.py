"""A real daemon with hosts behind a real sshd: found, lost, found again; and never a job twice."""

import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest

from kpd.client import DaemonError
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.e2e.dying import nothing_twice
from tests.support.e2e.hosts import card, configure, remote, until_up
from tests.support.e2e.told import last, told_times
from tests.support.hosts.remote_box import Box, box

__all__ = ["daemon", "remote", "told_times", "workspace"]

TOLD = pytest.mark.usefixtures("told_times")
"""What a verdict is does not matter to a test, only that a run comes to its end."""


def jobs_on(box: Box) -> list[Path]:
    return sorted(box.far.glob("*/jobs/r1.*"))


def test_a_whole_run_on_a_host_behind_ssh(daemon: RealDaemon, remote: Box) -> None:
    daemon.start()
    until_up(daemon, "box")
    found = card(daemon, "box")
    assert found["transport"] == "ssh" and found["address"] == "box"
    assert found["devices"][0]["id"] == "cpu"
    assert found["rtt_ms"] is not None
    daemon.command("run", task="scale", host="box")
    assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
    (started,) = daemon.events("run_started")
    assert started["body"]["host"] == "box" and started["body"]["device_id"] == "cpu"
    nothing_twice(daemon)
    assert jobs_on(remote)


@TOLD
def test_a_lost_link_is_waited_for_and_costs_no_iteration(
    daemon: RealDaemon, workspace: Workspace, remote: Box
) -> None:
    last(workspace, 0.5)
    daemon.start()
    until_up(daemon, "box")
    daemon.command("run", task="scale", host="box")
    for step in ("build", "check", "time"):
        daemon.until_event("step_started", iteration=1, step=step)
        remote.go_down()
        daemon.until(lambda: card(daemon, "box")["link"] == "down", "the loss to be noticed")
        assert card(daemon, "box")["error"]
        waiting = daemon.until(lambda: daemon.query("status")["active"]["waits"], "the run to say that it waits")
        assert waiting.startswith("box: ")
        remote.come_back()
        until_up(daemon, "box")
        daemon.until(lambda: not (daemon.query("status")["active"] or {}).get("waiting"), "the run to go on")
    assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
    nothing_twice(daemon)
    assert not daemon.events("run_paused")
    assert {event["body"]["outcome"] for event in daemon.events("iteration_ended")} <= {
        "baseline", "accepted", "rejected", "failed", "measured", "skipped",  # the sweep has tried everything
    }  # fmt: skip


@TOLD
def test_a_daemon_killed_in_mid_job_goes_on_with_that_job(
    daemon: RealDaemon, workspace: Workspace, remote: Box
) -> None:
    last(workspace, 0.5)
    daemon.start()
    until_up(daemon, "box")
    daemon.command("run", task="scale", host="box", iterations=1)
    daemon.until_event("step_started", iteration=1, step="time")

    def timed() -> list[Path]:  # a job's folder is there a little before its process, and that before its lease
        mine = [path / "pgid" for path in jobs_on(remote) if path.name.startswith("r1.1.1-time")]
        return [pgid.parent for pgid in mine if pgid.exists() and not pgid.read_text().startswith("0 ")]

    job = daemon.until(timed, "the job")[0]
    daemon.kill()
    began = (job / "pgid").read_text()
    daemon.start()
    until_up(daemon, "box")
    assert "resume" in daemon.query("status")["held"]
    daemon.command("resume")
    assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
    assert (job / "pgid").read_text() == began, "the job was not run again"
    nothing_twice(daemon)


def test_a_changed_key_is_never_trusted(daemon: RealDaemon, remote: Box) -> None:
    daemon.start()
    until_up(daemon, "box")
    remote.server.restart(new_host_key=True)
    daemon.until(lambda: card(daemon, "box")["trouble"] == "host_key", "the change to be noticed")
    found = card(daemon, "box")
    assert "ssh-keygen -R" in found["error"] and found["offered"] == ""
    with pytest.raises(DaemonError):
        daemon.command("trust", host="box", fingerprint="SHA256:anything")


@TOLD
def test_a_host_that_hangs_blocks_no_other(daemon: RealDaemon, workspace: Workspace) -> None:
    last(workspace, 0.2)
    with ExitStack() as stack:
        one, two = (stack.enter_context(box(workspace.root.parent, name)) for name in ("one", "two"))
        configure(workspace, one, two)
        shutil.copytree(workspace.tasks / "scale", workspace.tasks / "other")
        toml = workspace.tasks / "other" / "task.toml"
        toml.write_text(toml.read_text().replace('"scale"', '"other"'))
        daemon.start()
        until_up(daemon, "one", "two")
        daemon.command("run", task="scale", host="one")
        daemon.until_event("step_started", run="r1", iteration=1)
        one.network(lambda network: network.freeze())
        daemon.command("run", task="other", host="two")
        assert daemon.until_event("run_ended", run="r2")["body"]["outcome"] == "improved"
        assert [event["body"]["run"] for event in daemon.events("run_ended")] == ["r2"]
        one.network(lambda network: network.thaw())
        assert daemon.until_event("run_ended", run="r1")["body"]["outcome"] == "improved"
        nothing_twice(daemon)


@TOLD
def test_runs_spread_over_hosts_and_one_task_has_one_run(daemon: RealDaemon, workspace: Workspace) -> None:
    last(workspace, 0.2)
    with ExitStack() as stack:
        boxes = [stack.enter_context(box(workspace.root.parent, name)) for name in ("one", "two")]
        configure(workspace, *boxes)
        for name in ("other", "third"):
            shutil.copytree(workspace.tasks / "scale", workspace.tasks / name)
            toml = workspace.tasks / name / "task.toml"
            toml.write_text(toml.read_text().replace('"scale"', f'"{name}"'))
        daemon.start()
        until_up(daemon, "local", "one", "two")
        for task in ("scale", "scale", "other", "third"):
            daemon.command("run", task=task, iterations=2)
        waits = daemon.until_event("run_waits", run="r2")["body"]["reason"]
        assert waits == "r1 works on scale"
        for run in ("r1", "r2", "r3", "r4"):
            assert daemon.until_event("run_ended", run=run)
        hosts = {event["body"]["run"]: event["body"]["host"] for event in daemon.events("run_started")}
        assert {hosts["r1"], hosts["r3"], hosts["r4"]} == {"local", "one", "two"}
        nothing_twice(daemon)


def test_what_no_host_can_do_waits_and_can_be_stopped(daemon: RealDaemon, workspace: Workspace, remote: Box) -> None:
    toml = workspace.tasks / "scale" / "task.toml"
    toml.write_text(toml.read_text() + '\n[need]\narch = "sm_999"\n')
    daemon.start()
    until_up(daemon, "box")
    daemon.command("run", task="scale")
    waits = daemon.until_event("run_waits", run="r1")["body"]["reason"]
    assert "no CPU with sm_999" in waits
    daemon.command("stop")
    assert daemon.until_event("run_ended", run="r1")["body"]["outcome"] == "stopped"


def test_hosts_come_and_go_with_config_toml(daemon: RealDaemon, workspace: Workspace, remote: Box) -> None:
    text = (workspace.root / "config.toml").read_text()
    (workspace.root / "config.toml").write_text("")
    daemon.start()
    until_up(daemon, "local")
    (workspace.root / "config.toml").write_text(text)
    until_up(daemon, "box")
    (workspace.root / "config.toml").write_text("")
    daemon.until(lambda: "box" not in daemon.query("status")["hosts"], "the host to be let go")
    daemon.until(lambda: not remote.server.sessions(), "the connection to be closed")


@TOLD
def test_a_shutdown_begins_nothing_and_says_nothing_more(daemon: RealDaemon, workspace: Workspace, remote: Box) -> None:
    last(workspace, 0.2)
    daemon.start()
    until_up(daemon, "box")
    daemon.command("run", task="scale", host="box")
    daemon.command("run", task="scale", host="local")
    daemon.until_event("step_started", iteration=1, step="check")
    daemon.command("shutdown", now=True)
    assert daemon.wait() == 0
    daemon.start()
    kinds = [event["kind"] for event in daemon.events()]
    stopped = kinds.index("daemon_stopped")
    assert kinds[stopped + 1] == "daemon_started" and "run_paused" not in kinds[:stopped]
    assert kinds.count("run_started") == 1


@TOLD
def test_a_task_whose_run_waits_for_its_host_is_not_begun_elsewhere(
    daemon: RealDaemon, workspace: Workspace, remote: Box
) -> None:
    last(workspace, 0.2)
    daemon.start()
    until_up(daemon, "box", "local")
    daemon.command("run", task="scale", host="box")
    daemon.until_event("step_started", run="r1", iteration=1)
    remote.go_down()
    daemon.until(lambda: card(daemon, "box")["link"] == "down", "the loss to be noticed")
    daemon.kill()
    daemon.start()
    daemon.command("resume")
    daemon.command("run", task="scale")
    assert daemon.until_event("run_waits", run="r2")["body"]["reason"] == "r1 works on scale"
    assert [event["body"]["run"] for event in daemon.events("run_started")] == ["r1"]
    remote.come_back()
    daemon.command("nudge", host="box")
    assert daemon.until_event("run_ended", run="r1")["body"]["outcome"] == "improved"
    assert daemon.until_event("run_ended", run="r2")
    nothing_twice(daemon)


@TOLD
def test_an_address_that_is_corrected_is_tried_at_once(daemon: RealDaemon, workspace: Workspace, remote: Box) -> None:
    last(workspace, 0.2)
    text = (workspace.root / "config.toml").read_text()
    daemon.start()
    until_up(daemon, "box")
    daemon.command("run", task="scale", host="box")
    daemon.until_event("step_started", iteration=1)
    remote.go_down()
    daemon.until(lambda: card(daemon, "box")["link"] == "down", "the loss to be noticed")
    direct = f'address = "{remote.server.user}@127.0.0.1:{remote.server.port}"'
    key = f"Host 127.0.0.1\n  IdentityFile {remote.server.key}\n"
    with (remote.home / ".ssh" / "config").open("a") as config:
        config.write(key)
    (remote.home / ".ssh" / "known_hosts").write_text(remote.server.known_hosts.read_text())
    (workspace.root / "config.toml").write_text(text.replace('address = "box"', direct))
    until_up(daemon, "box")
    assert daemon.until_event("run_ended")["body"]["outcome"] == "improved"
    nothing_twice(daemon)
