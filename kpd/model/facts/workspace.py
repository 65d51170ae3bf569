"""Defines what is recorded of the daemon and its workspace: tasks, hosts, the whole queue, notices."""

from dataclasses import dataclass

from kpd.model.fact import Fact
from kpd.model.hosts import HostCard
from kpd.model.notices import Level, Subject
from kpd.model.state import TaskCard
from kpd.model.waits import Hold


@dataclass(frozen=True, slots=True)
class DaemonStarted(Fact):
    version: str
    pid: int
    workspace: str


@dataclass(frozen=True, slots=True)
class DaemonStopped(Fact):
    """`rested`: no step was cut short, so that the next daemon goes on by itself."""

    rested: bool = False


@dataclass(frozen=True, slots=True)
class Noticed(Fact):
    level: Level
    about: Subject


@dataclass(frozen=True, slots=True)
class TaskLoaded(Fact):
    """The result of reading a task folder; where it was refused, `card.error` says why."""

    card: TaskCard


@dataclass(frozen=True, slots=True)
class TaskRemoved(Fact):
    task: str


@dataclass(frozen=True, slots=True)
class HostProbed(Fact):
    card: HostCard


@dataclass(frozen=True, slots=True)
class HostRemoved(Fact):
    """The host's removal from config.toml."""

    host: str


@dataclass(frozen=True, slots=True)
class QueueHeld(Fact):
    """A stop of the whole queue: no run starts or goes on until a person says `resume`."""

    hold: Hold


@dataclass(frozen=True, slots=True)
class QueueReleased(Fact):
    by: str
