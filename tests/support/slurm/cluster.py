"""Starts a Slurm on this machine: its own munge key, ports, configuration and state in one folder.

Its commands are in `bin`, as scripts that name the configuration. It has one node n1, or more: each has eight CPUs, two
GPUs that are plain files, a slurmd of its own, and the partitions `gpu` (default), `cpu` (the last node alone), and
`urgent`, whose jobs preempt those of others; a job may last for an hour.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

COMMANDS = ("sbatch", "srun", "squeue", "scancel", "scontrol", "sinfo", "sacct")
DAEMONS = ("munged", "slurmctld", "slurmd")
UP_S = 20.0
KILL_WAIT_S = 2
OTHER = "other"  # the name of jobs that are not kpd's

CONF = """\
ClusterName=kpdtest
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
ProctrackType=proctrack/{proctrack}
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1,sched_min_interval=100000
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
SlurmctldTimeout=30
SlurmdTimeout=30
SlurmdParameters=config_overrides
KillWait={kill_wait}
OverTimeLimit=0
MinJobAge=60
GresTypes=gpu
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
PartitionName=gpu Nodes=ALL Default=YES MaxTime=60 State=UP
PartitionName=cpu Nodes={last} MaxTime=60 State=UP
PartitionName=urgent Nodes=ALL MaxTime=60 State=UP PriorityTier=9
"""
NODE = "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=8 RealMemory=1000 Gres=gpu:fake:2\n"


class Cluster:
    """A running Slurm. `bin` has its commands."""

    def __init__(self, folder: Path, proctrack: str = "linuxproc", nodes: int = 1) -> None:
        self.folder = folder
        self.nodes = [f"n{number}" for number in range(1, nodes + 1)]
        self.bin = folder / "bin"
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        host = socket.gethostname().partition(".")[0]
        for name in ("state", "bin", *(f"spool-{node}" for node in self.nodes)):
            (folder / name).mkdir(parents=True)
        key = folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        for number in range(2):
            (folder / f"gpu{number}").touch()
        controller, *ports = _free_ports(1 + nodes)
        conf = CONF.format(
            host=host, controller=controller, last=self.nodes[-1], folder=folder, user="root", proctrack=proctrack,
            kill_wait=KILL_WAIT_S,
        )  # fmt: skip
        at, _, partitions = conf.partition("PartitionName=")
        lines = (NODE.format(name=name, host=host, port=port) for name, port in zip(self.nodes, ports, strict=True))
        (folder / "slurm.conf").write_text(f"{at}{''.join(lines)}PartitionName={partitions}")
        gres = (f"NodeName={name} Name=gpu Type=fake File={folder}/gpu[0-1]\n" for name in self.nodes)
        (folder / "gres.conf").write_text("".join(gres))
        for name in COMMANDS:
            script = self.bin / name
            real = shutil.which(name)
            script.write_text(f'#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec {real} "$@"\n')
            script.chmod(0o755)

    def start(self) -> None:
        """Start the daemons, and wait until the node can run jobs."""
        munge = ("--foreground", "--force", f"--key-file={self.folder}/munge.key")
        places = {"socket": "munge.socket", "pid-file": "munge.pid", "log-file": "munge.log", "seed-file": "munge.seed"}
        self._spawn("munged", *munge, *(f"--{name}={self.folder}/{file}" for name, file in places.items()))
        _until(lambda: (self.folder / "munge.socket").exists(), "munged has a socket")
        self.start_controller()
        for node in self.nodes:
            self._spawn("slurmd", "-D", "-N", node, "-f", f"{self.folder}/slurm.conf", name=f"slurmd-{node}")
        _until(lambda: {*self.run("sinfo", "-h", "-o", "%T").split()} == {"idle"}, "the nodes are idle")

    def start_controller(self) -> None:
        """Start slurmctld, which goes on with the state that the last one has saved."""
        self._spawn("slurmctld", "-D", "-f", f"{self.folder}/slurm.conf")

    def stop_controller(self) -> None:
        """End slurmctld, which saves its state: a killed one forgets the jobs of its last seconds."""
        _end(self._daemons.pop("slurmctld"), signal.SIGTERM)

    def kill_controller(self) -> None:
        """Kill slurmctld, which saves nothing any more."""
        _end(self._daemons.pop("slurmctld"), signal.SIGKILL)

    def lose_node(self, node: str = "n1") -> None:
        """Take a node down with what runs there, and bring it back where it has not come back itself."""
        self.run("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=test")
        self.resume(node)

    def resume(self, *nodes: str) -> None:
        """Bring nodes back. Slurm refuses that for one that has come back itself."""
        for node in nodes:
            with contextlib.suppress(subprocess.CalledProcessError):
                self.run("scontrol", "update", f"NodeName={node}", "State=RESUME")

    def close(self) -> None:
        """Cancel all jobs, and end the daemons."""
        with contextlib.suppress(subprocess.SubprocessError):
            self.run("scancel", "-u", "root")
            _until(lambda: not self.run("squeue", "-h"), "no job is left")
        for process in reversed(self._daemons.values()):
            _end(process, signal.SIGTERM)

    def run(self, command: str, *arguments: str, stdin: str = "") -> str:
        """Run one of Slurm's commands, and return what it prints. Raises subprocess.SubprocessError."""
        return subprocess.run(
            (self.bin / command, *arguments), input=stdin, capture_output=True, text=True, check=True, timeout=20
        ).stdout

    def jobs(self, form: str = "%i %T") -> list[str]:
        """Return a line for each job that waits or runs."""
        states = "PENDING,CONFIGURING,RUNNING,SUSPENDED"
        return self.run("squeue", "-h", "-t", states, "-o", form).splitlines()

    def submit(self, gres: str = "gpu:fake:2", partition: str = "gpu") -> str:
        """Submit somebody's job that takes these resources, and return its id."""
        asked = ("--parsable", f"--gres={gres}", "-p", partition, "-J", OTHER, "-o", "/dev/null")
        return self.run("sbatch", *asked, stdin=SLEEPS).strip()

    def cancel_others(self) -> bool:
        """Cancel somebody's jobs, and return whether none is left."""
        self.run("scancel", "-n", OTHER)
        return OTHER not in self.jobs("%j")

    def occupy(self, gres: str = "gpu:fake:2") -> str:
        """Submit somebody's job that takes these resources, wait until it runs, and return its id."""
        job = self.submit(gres)
        _until(lambda: f"{job} RUNNING" in self.jobs(), f"job {job} runs")
        return job

    def _spawn(self, command: str, *arguments: str, name: str = "") -> None:
        name = name or command
        program = shutil.which(command, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")
        assert program is not None
        with (self.folder / f"{name}.log").open("ab") as log:
            self._daemons[name] = subprocess.Popen(
                (program, *arguments), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=dict(os.environ, SLURM_CONF=f"{self.folder}/slurm.conf"),
            )  # fmt: skip


SLEEPS = "#!/bin/sh\nexec sleep 600\n"


def missing() -> str:
    """Say why no Slurm can be started here; empty where it can."""
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    absent = [name for name in (*COMMANDS, *DAEMONS) if shutil.which(name, path=path) is None]
    if absent:
        return f"no {' or '.join(absent)}: apt install slurm-wlm munge"
    return "" if os.getuid() == 0 else "slurmd needs root"


@contextlib.contextmanager
def running_cluster(folder: Path, proctrack: str = "linuxproc", nodes: int = 1) -> Iterator[Cluster]:
    """Run a Slurm in `folder` while the block runs; skips the test where it cannot be started, but fails in CI."""
    if why := missing():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(why)
    cluster = Cluster(folder, proctrack, nodes)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in sockets]


def _until(holds: object, what: str) -> None:
    assert callable(holds)
    until = time.monotonic() + UP_S
    while time.monotonic() < until:
        with contextlib.suppress(subprocess.SubprocessError):
            if holds():
                return
        time.sleep(0.1)
    raise AssertionError(f"not within {UP_S:g} s: {what}")


def _end(process: subprocess.Popen[bytes], how: signal.Signals) -> None:
    process.send_signal(how)
    try:
        process.wait(UP_S)  # a controller saves its state meanwhile
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
