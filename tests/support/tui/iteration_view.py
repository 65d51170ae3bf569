"""A view on one iteration, and how what it shows is read."""

from textual.content import Content

from tests.support.tui import logs
from tests.support.tui.feed import CannedFeed
from tests.support.tui.views import view_of
from tui.model.answers import LoadedDetails, Show
from tui.model.outline import TreePosition
from tui.model.view import View

WIDTHS = (47, 64, 80, 140)
HOSTILE = "\x1b[2J\x1b]0;owned\x07[bold red]MEMO[/] [@click=app.quit]x[/] \x00\u202e\u200d \x1b]52;c;aGk=\x07end"


def at(number: int) -> TreePosition:
    return TreePosition(logs.TASK, "r1", number)


def shown(log: logs.Log, number: int) -> View:
    """The view on an iteration with what the daemon answers about it."""
    feed = CannedFeed(log)
    it = log.state.runs["r1"].iteration(number)
    assert it is not None
    show = Show(it, feed.detail("r1", number), feed.detail("r1", it.parent), feed.detail("r1", 0))
    return view_of(log, at(number), shown=LoadedDetails(show))


def unfolded(lines: list[Content]) -> str:
    return " ".join(line.plain.strip() for line in lines)
