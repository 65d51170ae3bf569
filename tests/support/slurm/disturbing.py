"""Defines what can happen to a daemon on a cluster, for benchmarks/slurm_disturbances.py: each kind is a function."""

import contextlib
import random
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import psutil

from tests.support.daemon.real_daemon import RealDaemon
from tests.support.hosts.remote_box import Box
from tests.support.slurm.cluster import Cluster
from tests.support.slurm.inside import kill_holder, processes

WAIT_S = 120.0  # after which something counts as lost
FORGOTTEN_S = 240.0  # after which a killed controller's successor has learnt of the end of jobs that it took to run
LOOK_S = 0.2


@dataclass
class Bench:
    """The daemon and its cluster, and what was seen of them."""

    daemon: RealDaemon
    slurm: Cluster
    login: Box
    chance: random.Random
    runs: int = 0
    recoveries: dict[str, list[float]] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)  # Slurm's words for jobs that were preempted
    over: threading.Event = field(default_factory=threading.Event)

    def mine(self) -> list[list[str]]:
        """Return id, state and end of kpd's jobs that wait or run."""
        return [line.split() for line in self.slurm.jobs("%i %T %j") if " kpd-" in line]

    def until(self, ready: Callable[[], Any], what: str, wait_s: float = WAIT_S) -> Any:
        end = time.monotonic() + wait_s
        while time.monotonic() < end:
            with contextlib.suppress(subprocess.SubprocessError):  # the controller may be away
                if found := ready():
                    return found
            time.sleep(LOOK_S)
        self.lost.append(what)
        return None

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        return self.daemon.events(*kinds)

    def running(self) -> bool:
        """Return whether the last run is still under way."""
        return len(self.events("run_ended")) < self.runs

    def keep_running(self) -> None:
        """Queue another run where the last one has ended."""
        if not self.running():
            self.runs += 1
            several = "all" if self.runs % 2 else 1
            self.daemon.command("run", task="scale", host="cluster", iterations=4, devices=several)

    def until_it_asks(self) -> None:
        """Wait until a job of kpd waits; a run that has just ended asks for none, so another one is queued then."""

        def asked() -> bool:
            self.keep_running()
            return "PENDING" in [job[1] for job in self.mine()]

        self.until(asked, "the next was not asked for")

    def job(self) -> str:
        """Return one of kpd's jobs that run, once one does."""
        found = self.until(lambda: [job[0] for job in self.mine() if job[1] == "RUNNING"], "no allocation began")
        return str(self.chance.choice(found)) if found else "0"

    def node(self) -> str:
        """Return the node of one of kpd's jobs."""
        return self.slurm.run("squeue", "-h", "-j", self.job(), "-o", "%N").strip() or self.slurm.nodes[0]

    def crowd(self, partition: str = "gpu") -> list[str]:
        """Submit others' jobs that take every node."""
        return [self.slurm.submit(partition=partition) for _ in self.slurm.nodes]

    def until_one_runs(self, others: list[str]) -> None:
        self.until(lambda: any(f"{job} RUNNING" in self.slurm.jobs() for job in others), "another job began")


def cancelled(bench: Bench) -> None:
    """Somebody cancels the job."""
    bench.slurm.run("scancel", bench.job())


def cancelled_behind_another(bench: Bench) -> None:
    """Somebody cancels a job, and others have the GPUs before the next is asked for."""
    others = bench.crowd()
    bench.slurm.run("scancel", bench.job())
    bench.until_one_runs(others)
    bench.until_it_asks()
    bench.slurm.run("scancel", *others)


def preempted(bench: Bench) -> None:
    """Jobs of a partition that comes first take the GPUs, and Slurm cancels kpd's for them."""
    job = bench.job()
    others = bench.crowd("urgent")
    bench.until_one_runs(others)
    bench.until_it_asks()
    bench.ends.append(bench.slurm.run("scontrol", "-o", "show", "job", job).partition("JobState=")[2].split()[0])
    bench.slurm.run("scancel", *others)


def timed_out(bench: Bench) -> None:
    """The time limit ends the job."""
    bench.slurm.run("scontrol", "update", f"JobId={bench.job()}", "TimeLimit=0:00:01")


def node_lost(bench: Bench) -> None:
    """A node goes down with what runs there, and comes back."""
    bench.slurm.lose_node(bench.node())


def node_drained(bench: Bench) -> None:
    """The nodes are drained, a job is cancelled, and the nodes come back while the next one waits."""
    job, nodes = bench.job(), f"NodeName={','.join(bench.slurm.nodes)}"
    bench.slurm.run("scontrol", "update", nodes, "State=DRAIN", "Reason=test")
    bench.slurm.run("scancel", job)
    bench.until_it_asks()
    bench.slurm.resume(*bench.slurm.nodes)


def controller_restarted(bench: Bench) -> None:
    """Slurm's controller is away for a while."""
    bench.slurm.stop_controller()
    time.sleep(bench.chance.uniform(0, 2))
    bench.slurm.start_controller()


def controller_killed(bench: Bench) -> None:
    """Slurm's controller is killed, and another one knows what the last had saved: not what it was told last.

    So jobs that others had cancelled may begin, and nodes that had been brought back are drained: others look after
    theirs again.
    """
    bench.slurm.kill_controller()
    time.sleep(bench.chance.uniform(0, 2))
    bench.slurm.start_controller()
    bench.until(bench.slurm.cancel_others, "others' jobs were not cancelled")
    bench.slurm.resume(*bench.slurm.nodes)


def controller_away_at_the_end(bench: Bench) -> None:
    """The job is cancelled, and the controller is away when the next is to be asked for."""
    bench.slurm.run("scancel", bench.job())
    bench.slurm.stop_controller()
    time.sleep(bench.chance.uniform(1, 3))
    bench.slurm.start_controller()


def step_killed(bench: Bench) -> None:
    """The step of srun, which is kpd's connection, is killed."""
    for process in processes(bench.daemon.workspace):
        with contextlib.suppress(psutil.Error):
            if "enter" in process.cmdline():
                process.kill()


def holder_killed(bench: Bench) -> None:
    """An allocation's holder is killed with Slurm's process for its step: Slurm says for minutes that the job runs.

    A controller that was killed, and has forgotten the end of a job, says so, too.
    """
    kill_holder(bench.daemon.workspace, bench.job())


def connections_cut(bench: Bench) -> None:
    """All connections to the login node are cut, those that are being made, too."""
    bench.login.server.cut()


def daemon_killed(bench: Bench) -> None:
    """The daemon is killed, and started again."""
    bench.daemon.kill()
    time.sleep(bench.chance.uniform(0, 1))
    again(bench)


def daemon_killed_while_it_waits(bench: Bench) -> None:
    """The daemon is killed while its next job waits, and started again."""
    others = bench.crowd()
    bench.slurm.run("scancel", bench.job())
    bench.until_it_asks()
    bench.daemon.kill()
    again(bench)
    bench.slurm.run("scancel", *others)


def daemon_killed_as_it_asks(bench: Bench) -> None:
    """The job is cancelled, and the daemon is killed at a moment at which it may just be asking for the next."""
    bench.slurm.run("scancel", bench.job())
    time.sleep(bench.chance.uniform(0, 1.5))
    bench.daemon.kill()
    again(bench)


def again(bench: Bench) -> None:
    bench.daemon.start()
    if bench.daemon.query("status")["held"]:
        bench.daemon.command("resume")


KINDS: dict[str, Callable[[Bench], None]] = {
    each.__name__: each
    for each in (
        cancelled, cancelled_behind_another, preempted, timed_out, node_lost, node_drained, controller_restarted,
        controller_killed, controller_away_at_the_end, step_killed, holder_killed, connections_cut,
        daemon_killed, daemon_killed_while_it_waits, daemon_killed_as_it_asks,
    )
}  # fmt: skip
