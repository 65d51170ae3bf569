"""Kernels that live in a namespace."""

from collections.abc import Iterator, Mapping

from kpd.agents.interface import kernel_text
from kpd.source.functions import functions
from kpd.source.text import language
from kpd.workspace.task import Task

MOST_NAMES = 3


class Namespaces:
    """Says which. A reply that opens or closes one wrongly is not mended: the gate says what is not found there."""

    def applies(self, task: Task, incumbent: Mapping[str, bytes]) -> bool:
        return any(True for _ in _spaces(task, incumbent))

    def hints(self, task: Task, incumbent: Mapping[str, bytes]) -> tuple[str, ...]:
        found: dict[tuple[str, str], list[str]] = {}
        for path, space, name in _spaces(task, incumbent):
            found.setdefault((path, space), []).append(f"`{name}`")
        return tuple(
            f"{path}: {_some(list(dict.fromkeys(names)))} must stay in {space}; open and close it as the file does."
            for (path, space), names in found.items()
        )

    def tidy(self, files: Mapping[str, bytes]) -> dict[str, bytes]:
        return dict(files)


def _spaces(task: Task, incumbent: Mapping[str, bytes]) -> Iterator[tuple[str, str, str]]:
    """File, namespace and name of each function in one."""
    for path, text in kernel_text(task, incumbent).items():
        for each in functions(path, text) if language(path) == "c" else ():
            if each.defined and each.scope and not each.member:
                yield path, f"namespace {'::'.join(name or '(unnamed)' for name in each.scope)}", each.name


def _some(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more
