"""How a task of each language is made ready on a host."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Literal

from kpd.hosts.host import Host
from kpd.measure.bench import Bench, Say
from kpd.measure.c import bench as c
from kpd.model.nouns import Device
from kpd.workspace.task import Task


@dataclass(frozen=True, slots=True)
class Language:
    """The kind of device that its candidates are measured on, and how a task is made ready for such a device.

    `prepare` raises BuildError and TaskError, the task's fault, and HostError.
    """

    device: Literal["cpu", "gpu"]
    prepare: Callable[[Host, Task, Device, Say], Coroutine[Any, Any, Bench]]


BENCHES = {"c": Language("cpu", c.prepare)}
