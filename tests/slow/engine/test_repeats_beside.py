"""Repeats beside the first audit, in a whole run: a fault of these, and who ends the run or the daemon meanwhile."""

import asyncio
from pathlib import Path

import pytest

from kpd.hosts.preflight.probe import spare_cpus
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, jobs_of, workspace
from tests.support.e2e.kernels import kernel, save
from tests.support.hosts.local import host_at

__all__ = ["daemon", "workspace"]

WRONG_ONCE = """\
static int call;
void scale(const float *x, volatile float *y, long n) {
    for (long i = 0; i < n; i++) y[i] = 2.0f * x[i];
    if (++call == 1500) y[n / 2] += 1.0f;
}
"""
"""Right in all calls of a check, and in those of a contest and of an audit that are looked at."""


@pytest.fixture(autouse=True, scope="module")
def _cores(tmp_path_factory: pytest.TempPathFactory) -> None:
    async def spare(root: Path) -> tuple[int, ...]:
        async with host_at(root) as host:
            return spare_cpus(await host.probe())

    if not asyncio.run(spare(tmp_path_factory.mktemp("probed"))):
        pytest.skip("one after the other where this machine has one core")


def both_under_way(daemon: RealDaemon, workspace: Workspace, text: str) -> None:
    """A run whose first candidate is called on unchanged inputs, and audited meanwhile."""
    daemon.start()
    daemon.command("run", task="scale", agent="operator")
    daemon.until_event("folder_known")
    save(kernel(workspace), text)
    daemon.until(lambda: {"audit", "repeats"} <= begun(workspace), "both jobs")


def begun(workspace: Workspace) -> set[str]:
    """The jobs of the step of the first candidate that exist on the host."""
    return {path.name.removeprefix("r1.1.1-") for path in (workspace.host_root / "jobs").glob("r1.1.1-*")}


def test_what_is_wrong_in_repeats_is_told_and_nothing_is_left_of_the_audit(
    daemon: RealDaemon, workspace: Workspace
) -> None:
    daemon.start()
    daemon.command("run", task="scale", agent="operator")
    daemon.until_event("folder_known")
    save(kernel(workspace), WRONG_ONCE)
    ended = daemon.until_event("iteration_ended", iteration=1)["body"]
    assert ended["cause"]["kind"] == "incorrect" and "two sets of inputs in turn" in ended["reason"], ended["reason"]
    assert "repeats" in begun(workspace) and "audit" not in begun(workspace)


def test_who_stops_the_run_ends_both(daemon: RealDaemon, workspace: Workspace) -> None:
    both_under_way(daemon, workspace, kernel(workspace).read_text().replace("REPEAT 8", "REPEAT 1"))
    daemon.command("stop", run="r1")
    daemon.until_event("run_ended", outcome="stopped")
    daemon.until(lambda: not jobs_of(workspace), "no job to be left running")
    assert not daemon.events("judged")[1:]


@pytest.mark.parametrize("how", ["killed", "shut down"])
def test_who_ends_the_daemon_has_both_afterwards(daemon: RealDaemon, workspace: Workspace, how: str) -> None:
    """A daemon that is killed leaves the jobs running; one that is shut down at once ends them."""
    both_under_way(daemon, workspace, kernel(workspace).read_text().replace("REPEAT 8", "REPEAT 1"))
    if how == "killed":
        daemon.kill()
    else:
        daemon.command("shutdown", now=True)
        assert daemon.wait() == 0 and not jobs_of(workspace)
    daemon.start()
    daemon.command("resume")
    judged = daemon.until_event("judged", iteration=1)["body"]
    assert judged["audited"]["times"] >= 1 and judged["repeats"] >= 6
    assert daemon.until_event("iteration_ended", iteration=1)["body"]["outcome"] == "accepted"
