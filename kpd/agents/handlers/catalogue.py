"""The handlers there are. A new one is one module and one line here."""

from collections.abc import Mapping

from kpd.agents.handlers.handler import Handler
from kpd.agents.handlers.namespaces import Namespaces
from kpd.agents.handlers.prose import Prose
from kpd.agents.handlers.templates import Templates
from kpd.workspace.task import Task

HANDLERS: tuple[Handler, ...] = (Namespaces(), Templates(), Prose())


def hints(task: Task, incumbent: Mapping[str, bytes]) -> tuple[str, ...]:
    """What the prompt should say of this task's kernel, a sentence each."""
    return tuple(hint for each in HANDLERS if each.applies(task, incumbent) for hint in each.hints(task, incumbent))


def tidy(task: Task, incumbent: Mapping[str, bytes], files: Mapping[str, bytes]) -> dict[str, bytes]:
    """A reply's files as all handlers that apply leave them."""
    tidied = dict(files)
    for each in HANDLERS:
        if each.applies(task, incumbent):
            tidied = each.tidy(tidied)
    return tidied
