"""What is asked of a handler."""

from collections.abc import Mapping
from typing import Protocol

from kpd.workspace.task import Task


class Handler(Protocol):
    """All three see the same in every iteration: the same input gives the same answer, and nothing is kept."""

    def applies(self, task: Task, incumbent: Mapping[str, bytes]) -> bool:
        """Whether the incumbent has the shape."""

    def hints(self, task: Task, incumbent: Mapping[str, bytes]) -> tuple[str, ...]:
        """Sentences for the prompt."""

    def tidy(self, files: Mapping[str, bytes]) -> dict[str, bytes]:
        """A reply's files without what is certainly not meant; what is doubtful stays for the gate to name."""
