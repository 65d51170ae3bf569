"""How a task of each language is made ready on a host."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Literal

from kpd.hosts.host import Host
from kpd.measure.bench import Bench, Say
from kpd.measure.c import bench as c, flags as c_flags
from kpd.measure.command import bench as command
from kpd.measure.cuda import bench as cuda, flags as cuda_flags
from kpd.measure.flags import AllowList
from kpd.model.places import Device, Need
from kpd.workspace import commands
from kpd.workspace.task import Task


@dataclass(frozen=True, slots=True)
class Language:
    """The kind of device that its candidates are measured on if a task does not say, and how a task is made ready.

    `prepare` raises BuildError and TaskError, the task's fault, and HostError. `flags` are those of its compiler that a
    candidate may set; None where kpd knows no compiler.
    """

    device: Literal["cpu", "gpu"]
    prepare: Callable[[Host, Task, Device, Say], Coroutine[Any, Any, Bench]]
    flags: AllowList | None = None


BENCHES = {
    "c": Language("cpu", c.prepare, c_flags.ALLOWED),
    "cuda": Language("gpu", cuda.prepare, cuda_flags.ALLOWED),
    "triton": Language("gpu", command.prepare),
    "python": Language("cpu", command.prepare),
    "command": Language("cpu", command.prepare),
}


def device_of(language: str, need: Need) -> Literal["cpu", "gpu"]:
    """The kind of device for a task of this language; one with its own benchmark may ask for a GPU."""
    if need.device:
        return need.device
    if language in commands.LANGUAGES and (need.gpu or need.arch.startswith("sm_")):
        return "gpu"
    return BENCHES[language].device if language in BENCHES else "cpu"
