"""Lists all operations by name, and all their keys."""

from typing import Any

from kpd.operations import comparisons, deployments, iterations, machines, reviews, runs, sessions, terms, tools
from kpd.operations.operation import Key, Operation

SUBJECTS = (runs, terms, reviews, iterations, machines, sessions, tools, comparisons, deployments)
OPERATIONS: dict[str, type[Operation[Any]]] = {
    kind.name: kind
    for subject in SUBJECTS
    for kind in vars(subject).values()
    if isinstance(kind, type) and issubclass(kind, Operation) and hasattr(kind, "name")
}
KEYS: tuple[tuple[type[Operation[Any]], Key], ...] = tuple(
    (kind, key) for kind in OPERATIONS.values() for key in kind.keys
)
