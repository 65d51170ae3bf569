"""Supervises a job: a fork of the helper runs one script, outlives the helper, and records the result."""

import contextlib
import json
import os
import resource
import shutil
import signal
import socket
import time
from pathlib import Path
from typing import NamedTuple

from kpd.hosts.helper.children import GRACE, HELD_BACK, Children, drop_inherited, fail
from kpd.hosts.helper.files import RequestRefused, let_owner_in
from kpd.hosts.helper.lease import Lease, LeaseTerms
from kpd.hosts.helper.sandbox import Sandbox, confine
from kpd.hosts.helper.usage import LOOK_S, JobUsage

MAX_FILE = 4 << 30  # bytes a job may write to one file: a runaway print loop must not fill the disk
RESERVED = 4096  # bytes set aside on disk at the start for each of `pgid` and `rc`
SPARE = (".waits", ".pgid", ".rc")  # the files that are set aside
LONGEST = 300  # characters of a taint


class JobOrder(NamedTuple):
    """What a job runs, its input, its limit in seconds, its environment and CPUs, and the terms of its lease.

    Without a `sandbox` it is not confined, and not limited in what it has of the machine (`memory`: see JobUsage).
    """

    script: bytes
    stdin: bytes
    limit: float
    env: "dict[str, str]"
    cpus: "list[int]"
    lease: "LeaseTerms | None"
    nice: int = 0
    sandbox: "Sandbox | None" = None
    memory: int = 0


class Supervisor:
    """The process that runs `cmd` in its own process group.

    It enforces the limit, ends what the script leaves behind, and writes `rc`. `fds` are the script's stdin if it has
    no input, stdout and stderr, the writing end of `alive`, and with a lease `notes`.
    """

    def __init__(self, folder: Path, order: JobOrder, fds: "list[int]") -> None:
        self.folder = folder
        self.order = order
        self.fds = fds
        self.rc = -int(signal.SIGKILL)  # until it is known; it stays so if the script hangs in the kernel
        self.reason = ""
        self.seconds = 0.0

    def fork(self) -> int:
        """Start the supervisor and return its pid."""
        signal.pthread_sigmask(signal.SIG_BLOCK, HELD_BACK)
        try:
            pid = os.fork()
            if pid == 0:
                try:
                    self.run()
                    os._exit(0)
                finally:  # reached only when something failed
                    fail(1)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD_BACK)
        return pid

    def run(self) -> None:
        os.setsid()
        os.chdir(str(self.folder))
        self.drop_inherited()
        self.children = Children()
        self.children.listen()
        token, taint, lost = 0, "", False
        lease = None
        if self.order.lease is None:
            self.run_script(None)
        else:
            settle(".waits", "pgid", f"0 {os.getpid()}")
            lease = Lease(self.order.lease, self.children, self.folder, self.fds[1], self.fds[4])
            try:
                if lease.take():
                    self.run_script(lease)
                    lease.finish()
                else:
                    self.rc, self.reason = -int(signal.SIGTERM), "killed"
                token, taint, lost = lease.token, lease.taint, bool(lease.lost)
            except RequestRefused as err:  # nothing has run
                self.rc, self.reason, taint = -1, "lost", f"there was no lease: {err.message}"
                lease.note(failed=err.message)
        end = {
            "rc": self.rc, "reason": self.reason, "seconds": round(self.seconds, 6),
            "free": shutil.disk_usage(".").free, "token": token, "taint": taint[:LONGEST], "lease_lost": lost,
        }  # fmt: skip
        settle(".rc", "rc", json.dumps(end))
        if lease is not None:
            lease.release()
        os.close(self.fds[3])  # wakes the helper sooner than the exit of this process would
        with contextlib.suppress(OSError):  # the job may be forgotten already
            let_owner_in(Path())

    def run_script(self, lease: "Lease | None") -> None:
        started = time.monotonic()
        if self.order.stdin:
            self.theirs, self.ours = socket.socketpair()
        script = self.children.spawn(self.become_script)
        if self.order.stdin:
            self.children.spawn(self.feed)
            self.theirs.close()
            self.ours.close()
        with contextlib.suppress(OSError):  # the script has done it itself, and may be gone already
            os.setpgid(script, script)
        settle(".pgid", "pgid", f"{script} {os.getpid()}")
        self.reason = self.wait(script, started + self.order.limit, lease)
        self.seconds = time.monotonic() - started
        if lease is not None:
            lease.script_ended(self.reason == "")
        self.children.end(script, 0.0 if self.reason in ("memory", "threads") else GRACE)
        status = self.children.status(script)
        if status is not None:
            self.rc = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)

    def drop_inherited(self) -> None:
        """Close the helper's pipes: the near side must see their end when the helper dies."""
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        os.dup2(self.fds[2], 2)  # a supervisor's own traceback belongs to its job
        drop_inherited(self.fds)

    def become_script(self) -> None:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        most = MAX_FILE if hard == resource.RLIM_INFINITY else min(MAX_FILE, hard)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
        if self.order.cpus:
            os.sched_setaffinity(0, self.order.cpus)
        os.nice(self.order.nice)
        for standard in range(3):
            os.dup2(self.fds[standard], standard)
        if self.order.stdin:
            os.dup2(self.theirs.fileno(), 0)
        command = ["/bin/sh", "cmd"]
        if self.order.sandbox is not None:
            command = [*confine(self.order.sandbox), *command]
        os.execve(command[0], command, self.order.env)

    def feed(self) -> None:
        """Give the script its input, which may hold secret seeds.

        It lies in no file, and no other process can open a socket of this one's by way of /proc.
        """
        self.theirs.close()
        self.ours.sendall(self.order.stdin)
        os._exit(0)

    def wait(self, script: int, deadline: float, lease: "Lease | None") -> str:
        """Wait until the script has ended, its time is over or its end was asked for; return the reason.

        The reason is empty, "timeout", "killed", "memory" or "threads".
        """
        usage, look = None if self.order.sandbox is None else JobUsage(self.order.memory), 0.0
        while True:
            status = self.children.status(script)
            if status is not None:  # who is asked to end with all of an allocation's processes finds some gone already
                return "killed" if status and self.children.asked else ""
            if self.children.asked:
                return "killed"
            left = deadline - time.monotonic()
            if left <= 0:
                return "timeout"
            if usage is not None:
                left = min(left, LOOK_S)
                if time.monotonic() >= look:
                    look = time.monotonic() + LOOK_S
                    excess = usage.exceeds()
                    if excess:
                        return excess
            self.children.nap(left if lease is None else min(left, lease.step()))


def settle(spare: str, name: str, text: str) -> None:
    """Write a small file of the job in one step.

    Its space was reserved at the start, so a full disk cannot prevent it.
    """
    with Path(spare).open("r+b") as file:
        file.write(text.encode().ljust(RESERVED))
    Path(spare).replace(name)
