"""Defines what is recorded of a run's devices: the lanes beside its first, and what other allocations bring."""

from dataclasses import dataclass

from kpd.model.fact import RunFact
from kpd.model.hosts import DeviceRef


@dataclass(frozen=True, slots=True)
class DevicesTaken(RunFact):
    """The further devices, by id, on which the run works beside its first one as it begins: each is a lane.

    `hosts` are theirs; without them all are on the first one's.
    """

    more: tuple[str, ...]
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LanesChanged(RunFact):
    """The further devices of a run that is under way: an allocation has brought some, or has ended.

    The lanes in `away` have lost theirs. The first lane may be among them.
    """

    more: tuple[DeviceRef, ...]
    away: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RunMoved(RunFact):
    """The first lane goes on with another device of the same name and driver, in another allocation.

    An empty `host` is the one that it was on.
    """

    device: str
    device_id: str
    host: str = ""


@dataclass(frozen=True, slots=True)
class RunRebased(RunFact):
    """The run goes on with a device of another kind, in another allocation, and begins a new baseline there.

    What it has found so far was measured on the former kind. Its incumbent is measured against the new baseline, and so
    are the candidates that the change has cut off.
    """

    device: str
    device_id: str
    host: str
    driver: str = ""
    clocks: str = ""
