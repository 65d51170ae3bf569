"""Maps the names of operations to the functions that implement them."""

from collections.abc import Callable
from typing import Any

from kpd.engine.operations import (
    candidates,
    comparisons,
    deployments,
    hosts,
    incumbent,
    profiling,
    runs,
    sessions,
    terms,
    tools,
)
from kpd.operations.catalogue import OPERATIONS

EFFECTS: dict[str, Callable[..., Any]] = {
    name: getattr(subject, name)
    for name in OPERATIONS
    for subject in (runs, terms, candidates, incumbent, profiling, hosts, sessions, tools, comparisons, deployments)
    if hasattr(subject, name)
}
