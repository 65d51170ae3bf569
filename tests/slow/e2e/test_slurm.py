"""A real daemon whose host is an allocation of a real Slurm: asked for once, found again, lost, and given back."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kpd.hosts.errors import HostError
from kpd.hosts.gpu_hours import GpuHours, hours_file
from kpd.hosts.transports import host_of
from kpd.model import codec
from kpd.model.fold import fold_all
from kpd.workspace.config import load_config
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.e2e.dying import nothing_twice
from tests.support.e2e.hosts import card
from tests.support.hosts.remote_box import box
from tests.support.slurm.cluster import Cluster, running_cluster
from tests.support.slurm.inside import kill_holder

__all__ = ["daemon", "workspace"]

TABLE = """
[hosts.cluster]
transport = "slurm"
bin = "{bin}"
partition = "gpu"
time = "30"
cpus = 2
root = "{root}"
leases = "{root}-leases"
idle_release = "1s"
"""


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("slurm") / "c") as cluster:
        yield cluster


@pytest.fixture
def two_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("slurm") / "c", nodes=2) as cluster:
        yield cluster


def configure(workspace: Workspace, slurm: Cluster, more: str = 'gres = "gpu:fake:2"') -> None:
    """Write the host's table."""
    table = TABLE.format(bin=slurm.bin, root=slurm.folder / "root")
    (workspace.root / "config.toml").write_text(f"{table}{more}\n")


def waits(daemon: RealDaemon) -> dict[str, Any]:
    """Return what the run waits for now."""
    events = daemon.events("run_waits")
    return (events[-1]["body"]["wait"] if events else None) or {}


def until_none_is_left(daemon: RealDaemon, slurm: Cluster) -> None:
    daemon.until(lambda: not slurm.jobs(), "the allocation to be gone")


def entered(daemon: RealDaemon, other_than: str = "") -> str:
    """Wait until an allocation is entered, and return its job."""

    def found() -> str:
        jobs = re.findall(r"entered job (\d+)", daemon.output)
        return jobs[-1] if jobs and jobs[-1] != other_than else ""

    return str(daemon.until(found, "an allocation to be entered"))


def entered_on(daemon: RealDaemon) -> set[str]:
    """Return the hosts whose allocation the daemon has entered."""
    return set(re.findall(r"(\S+): entered job", daemon.output))


REFUSED = (
    ({"partition": "nosuch"}, "refused the job: .*[Ii]nvalid partition", "sinfo -s"),
    ({"gres": "gpu:h100:1"}, "refused the job: .*not available", "correct `gres`"),
    ({"cpus": 999}, "Slurm would never begin the job: PartitionConfig", "`cpus`"),
    ({"time": "120"}, "Slurm would never begin the job: Partition(TimeLimit|Config)", "`time`"),
    ({"bin": "/nowhere"}, "there are no Slurm commands", "set `bin`"),
)  # fmt: skip


def test_a_run_goes_on_through_all_that_a_cluster_does_to_it(
    daemon: RealDaemon, workspace: Workspace, slurm: Cluster
) -> None:
    configure(workspace, slurm)
    other = slurm.occupy()
    daemon.start()
    assert len(slurm.jobs()) == 1, "nothing is asked for before a run needs it"
    daemon.command("run", task="scale", host="cluster", iterations=1, min_gain_pct=95.0)  # so contests are short
    daemon.until(lambda: waits(daemon).get("reason") == "Resources", "the reason why Slurm lets it wait")
    mine = waits(daemon)["job"]
    daemon.kill()
    daemon.start()
    daemon.command("resume")
    slurm.run("scancel", other)
    assert entered(daemon) == mine
    assert slurm.jobs("%i") == [mine], "the daemon has found it again, and submitted no other"

    daemon.until_event("step_started", iteration=1, step="time")
    slurm.run("scancel", mine)
    again = entered(daemon, other_than=mine)
    slurm.lose_node()
    third = entered(daemon, other_than=again)
    slurm.stop_controller()
    slurm.start_controller()
    kill_holder(workspace, third)
    fourth = entered(daemon, other_than=third)
    assert "JobState=CANCELLED" in slurm.run("scontrol", "show", "job", third), "given back, though Slurm said it ran"

    assert daemon.until_event("run_ended")["body"]["outcome"] == "no_gain"
    assert slurm.jobs("%i") in ([fourth], []), "a controller that starts again changes nothing"
    assert not daemon.events("run_paused")
    nothing_twice(daemon)
    until_none_is_left(daemon, slurm)
    daemon.until(lambda: card(daemon, "cluster")["trouble"] == "released", "the card to say so")
    hours = GpuHours(hours_file(workspace))
    daemon.until(lambda: all(one.ended for one in hours.read()), "the end of each to be noted")
    lent = hours.read()
    assert {one.job for one in lent} >= {mine, again, third, fourth}
    assert {(one.user, one.gpus) for one in lent} == {("root", 2)}

    two = 'gres = "gpu:fake:1"\nmax_allocations = 2\nabandon_after = "2s"'
    configure(workspace, slurm, two)
    daemon.until(lambda: card(daemon, "cluster.2")["trouble"] == "released", "its new settings")
    for apart in (False, True):
        daemon.command("run", task="scale", host="cluster", iterations=1, apart=apart)
    daemon.until(lambda: {"cluster", "cluster.2"} <= entered_on(daemon), "an allocation for each run")
    assert len(slurm.jobs()) == 2
    daemon.kill()
    daemon.until(lambda: not slurm.jobs(), "both to end themselves without their daemon")


def more_points(workspace: Workspace, count: int) -> None:
    """Give the sweep of the task so many points."""
    task = workspace.tasks / "scale" / "task.toml"
    task.write_text(task.read_text().replace("REPEAT = [8, 1]", f"REPEAT = {list(range(count, 0, -1))}"))


def jobs_of(slurm: Cluster) -> dict[str, str]:
    """Return the jobs of kpd by the names of their hosts."""
    jobs = (line.split() for line in slurm.jobs("%j %i") if line.startswith("kpd-"))
    return {re.sub(r"^kpd-[0-9a-f]+-", "", name): job for name, job in jobs}


def test_one_run_works_in_several_allocations_and_loses_nothing_when_one_of_them_ends(
    daemon: RealDaemon, workspace: Workspace, two_nodes: Cluster
) -> None:
    slurm = two_nodes
    build = '[hosts.cluster.build]\npartition = "cpu"\ncpus = 1'
    configure(workspace, slurm, f'gres = "gpu:fake:2"\nmax_allocations = 2\n{build}')
    more_points(workspace, 40)
    others = [slurm.occupy(), slurm.occupy()]
    daemon.start()
    daemon.command("run", task="scale", host="cluster", iterations=40, patience=99, devices="all", min_gain_pct=99.0)
    daemon.until(lambda: len(jobs_of(slurm)) == 2, "both allocations to be asked for, though none has begun")
    asked = jobs_of(slurm)
    daemon.kill()
    daemon.start()
    daemon.command("resume")
    daemon.until(lambda: waits(daemon).get("job") in asked.values(), "the jobs to be found again")
    slurm.run("scancel", *others)
    daemon.until(lambda: {"cluster", "cluster.2", "cluster.build"} <= entered_on(daemon), "all of its allocations")
    assert asked.items() <= jobs_of(slurm).items(), "each is found again, and none is submitted twice"
    assert {line.split()[1] for line in slurm.jobs("%j %N") if not line.split()[0].endswith(".build")} == {"n1", "n2"}
    first = daemon.until_event("run_started")["body"]["host"]
    (second,) = {"cluster", "cluster.2"} - {first}  # whichever began first has the first lane
    for lane, host in ((1, second), (0, first)):
        begun = daemon.until_event("iteration_started", lane=lane, confirming="" if lane == 0 else "floor")
        daemon.until_event("step_started", iteration=begun["body"]["iteration"], step="time")
        slurm.run("scancel", jobs_of(slurm)[host])
        daemon.until_event("lanes_changed", away=[lane])
        daemon.until(lambda: daemon.events("lanes_changed")[-1]["body"]["away"] == [], "the next allocation")
    daemon.command("stop", run="r1")
    daemon.until_event("run_ended")
    assert not daemon.events("run_paused")
    nothing_twice(daemon)
    built = [job for job in slurm.folder.glob("root/*.build/jobs/build-*") if (job / "out" / "kernel.so").exists()]
    brought = [where for job in built for where in slurm.folder.glob(f"root/*/jobs/{job.name}") if where != job]
    cmds = [(job / "cmd").read_text() for job in brought]
    assert built and any("cp -- " in cmd for cmd in cmds), "candidates are built elsewhere, and come over the root"
    begun, ended = (daemon.events(f"iteration_{word}") for word in ("started", "ended"))
    assert len(begun) == len(ended) and {event["body"]["lane"] for event in begun} == {0, 1}
    own = fold_all(codec.event_from_json(json.dumps(event)) for event in daemon.events()).overheads
    assert {host: set(each) for host, each in own.items()} == {"cluster": {"cpu"}, "cluster.2": {"cpu"}}
    assert all(0 < one.own_s < one.seconds for each in own.values() for one in each.values())
    until_none_is_left(daemon, slurm)


PASSES_FOR_ANOTHER = """#!/bin/sh
if [ ! -e {cpu} ]; then exec "$@"; fi
exec unshare -m sh -c 'mount --bind {cpu} /proc/cpuinfo && exec "$@"' sh "$@"
"""


def test_in_an_allocation_with_another_kind_of_device_a_run_begins_a_new_baseline(
    daemon: RealDaemon, workspace: Workspace, slurm: Cluster, tmp_path: Path
) -> None:
    enter, cpu = tmp_path / "enter", tmp_path / "cpu"
    enter.write_text(PASSES_FOR_ANOTHER.format(cpu=cpu))
    enter.chmod(0o755)
    configure(workspace, slurm, f'gres = "gpu:fake:1"\nenter = ["{enter}"]')
    more_points(workspace, 8)
    daemon.start()
    daemon.command("run", task="scale", host="cluster", iterations=9, patience=9)
    facts = daemon.until(lambda: daemon.events("accepted")[1:], "a winner")  # the baseline was the first one
    best = facts[0]["body"]["iteration"]
    cut = daemon.until_event("iteration_started", parent=best)["body"]["iteration"]
    daemon.until_event("step_started", iteration=cut, step="time")
    cpu.write_text(re.sub("(model name.*: ).*", r"\1Another CPU", Path("/proc/cpuinfo").read_text()))
    slurm.run("scancel", *jobs_of(slurm).values())
    found = daemon.until_event("run_rebased")["body"]
    assert found["device"] == "Another CPU"
    first = daemon.until_event("iteration_started", iteration=cut + 1)["body"]
    assert (first["agent"], first["parent"]) == ("baseline", cut + 1)
    again = daemon.until_event("iteration_started", iteration=cut + 2)["body"]
    assert (again["again"], again["parent"]) == (best, cut + 1)
    daemon.command("stop", run="r1")
    daemon.until_event("run_ended")
    assert not daemon.events("run_paused")
    nothing_twice(daemon)
    report = next(workspace.root.glob("runs/**/report.md")).read_text()
    assert "Measured on Another CPU" in report and f"iteration {best} was the best" in report
    until_none_is_left(daemon, slurm)


async def test_what_a_cluster_cannot_give_is_told_with_what_helps_and_what_it_has_by_a_trial(
    workspace: Workspace, slurm: Cluster
) -> None:
    configure(workspace, slurm, 'gres = "gpu:fake:2"\nbuild = { partition = "cpu", cpus = 1 }')
    config = load_config(workspace).hosts["cluster"]
    for keys, message, remedy in REFUSED:
        host = host_of("cluster", replace(config, options=replace(config.options, **keys)), workspace)
        try:
            with pytest.raises(HostError, match=message) as caught:
                await host.transport.open()
            assert caught.value.kind == "config" and remedy in caught.value.remedy
        finally:
            await host.transport.close()
    assert not slurm.jobs()
    checks = trial_through_ssh(workspace)
    assert checks["partition"]["found"].startswith("gpu* up: 1 node with gpu:fake:2, 8 CPUs")
    assert checks["quota"]["state"] == "off" and checks["shared root"]["state"] == "ok"
    assert checks["compiler"]["state"] == "ok"
    assert checks["builds"]["found"].endswith("of cluster.build is here, too: what is built there is copied")
    assert not slurm.jobs(), "the trial's allocation is given back"


def trial_through_ssh(workspace: Workspace) -> dict[str, Any]:
    """Return what `kpd doctor` finds through a login node behind SSH."""
    with box(workspace.root.parent) as login, (workspace.root / "config.toml").open("a") as config:
        config.write(f'via = "{login.name}"\n\n{login.table()}')
        config.flush()
        kpd = (sys.executable, "-m", "kpd.cli.main", "-w", str(workspace.root), "doctor", "cluster", "--json")
        said = subprocess.run(kpd, env=dict(os.environ, HOME=str(login.home)), capture_output=True, check=False)
    (found,) = json.loads(said.stdout)["hosts"]
    assert found["link"] == "up", found
    return {check["name"]: check for check in found["checks"]}
