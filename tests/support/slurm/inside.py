"""Finds what holds allocations of a workspace on this machine, and what has entered them."""

import contextlib
from collections.abc import Iterator

import psutil

from kpd.hosts.slurm.holder import PREFIX
from kpd.workspace.paths import Workspace


def own_names(workspace: Workspace) -> str:
    """Return how the names of a workspace's jobs begin, and so those under which their holders listen."""
    return f"kpd-{workspace.identity()}-"


def processes(workspace: Workspace) -> Iterator[psutil.Process]:
    """Yield what holds a workspace's allocations, and what has entered them."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if any(word.removeprefix(PREFIX).startswith(own_names(workspace)) for word in process.cmdline()):
                yield process


def kill_holder(workspace: Workspace, job: str) -> None:
    """Kill the holder of a job and Slurm's process for its step: Slurm then says for minutes that the job runs."""
    for process in processes(workspace):
        with contextlib.suppress(psutil.Error):
            step = process.parent()
            of_job = "enter" not in process.cmdline() and process.environ().get("SLURM_JOB_ID") == job
            if of_job and step is not None and step.name() == "slurmstepd":
                step.kill()
                process.kill()
