"""How a task of each language is made ready on a host."""

from collections.abc import Callable, Coroutine
from typing import Any

from kpd.hosts.host import Host
from kpd.measure import cbench
from kpd.measure.bench import Bench, Say
from kpd.workspace.task import Task

BENCHES: dict[str, Callable[[Host, Task, Say], Coroutine[Any, Any, Bench]]] = {"c": cbench.prepare}
