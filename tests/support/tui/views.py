"""Views of a log, without a terminal."""

from typing import Any

from tests.support.tui import logs
from tui.model.feed import LinkState
from tui.model.outline import TreePosition, newest, outline
from tui.model.view import View


def view_of(log: logs.Log, at: TreePosition | None = None, **fields: Any) -> View:
    state = log.state
    place = newest(state) if at is None else at
    return View(state=state, link=LinkState("up"), at=place, outline=outline(state, {}, place), **fields)


def plain(lines: Any) -> str:
    return "\n".join(line.plain for line in lines)


ENDED = "r1 has ended: 4 iterations without a gain (patience 4)"
