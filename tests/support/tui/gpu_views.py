"""Views of a machine with a GPU."""

from textual.content import Content

from kpd.model.detail import Detail, detail
from tests.support.tui import gpu, logs
from tui.model.answers import LoadedDetails, Show
from tui.model.feed import LinkState
from tui.model.outline import TreePosition, outline
from tui.model.view import View


def view_of(log: logs.Log, number: int = 1) -> View:
    """The view on an iteration of the run, with all that the daemon answers about it."""
    state, at = log.state, TreePosition(gpu.TASK, "r1", number)

    def of(number: int) -> Detail:
        return detail(event for event in log.events if getattr(event.fact, "iteration", None) == number)

    it = state.runs["r1"].iteration(number)
    assert it is not None
    show = Show(it, of(number), of(it.parent) if it.parent != number else None, of(0) if number else None)
    return View(state=state, link=LinkState("up"), at=at, outline=outline(state, {}, at), shown=LoadedDetails(show))


def plain(lines: list[Content]) -> list[str]:
    return [line.plain.rstrip() for line in lines]


def heading(drawn: list[str], title: str) -> int:
    """The line that a block begins with; the heads of columns may stand beside its title."""
    return next(nth for nth, text in enumerate(drawn) if text == title or text.startswith(f"{title}  "))
