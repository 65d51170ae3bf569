"""The right-hand panes: each draws its tab of the view, and only while it is the one in sight."""

from collections.abc import Callable
from typing import ClassVar

from textual.binding import Binding
from textual.content import Content
from textual.reactive import var

from tui.outline import Place
from tui.panes import log, rules
from tui.view import Tab, View
from tui.widgets.lines import Lines

DrawPane = Callable[[View, int, int], list[Content]]


class Pane(Lines):
    """One tab. Selecting another place begins at its top again."""

    view: var[View] = var(View, init=False)

    def __init__(self, tab: Tab, draw: DrawPane, wide: bool = False) -> None:
        super().__init__(id=tab, wide=wide)
        self.tab = tab
        self._draw = draw
        self._place = Place()

    def watch_view(self) -> None:
        if self.view.tab == self.tab and self.room.width:
            self.redraw()

    def on_resize(self) -> None:
        self.watch_view()

    def redraw(self) -> None:
        moved, self._place = self._place != self.view.at, self.view.at
        self.show(self._draw(self.view, self.room.width, self.room.height))
        if moved:
            self.scroll_to(0, 0, animate=False, force=True)


class LogPane(Pane):
    """Follows the newest line until it is scrolled up, and again from when it is scrolled back to the end."""

    def __init__(self) -> None:
        super().__init__("log", log.lines, wide=True)

    def redraw(self) -> None:
        follow = self._place != self.view.at or self.scroll_offset.y >= self.max_scroll_y
        self._place = self.view.at
        self.show(self._draw(self.view, self.room.width, self.room.height))
        if follow:
            self.scroll_to(0, self.max_scroll_y, animate=False, force=True)


class RulesPane(Pane):
    """Up and down move between findings; `chosen` is the one whose skill enter opens."""

    BINDINGS: ClassVar = [
        Binding("up", "choose(-1)", "previous finding", show=False),
        Binding("down", "choose(1)", "next finding", show=False),
    ]

    def __init__(self) -> None:
        super().__init__("rules", rules.lines)
        self.chosen = 0

    def redraw(self) -> None:
        if self._place != self.view.at:
            self.chosen = 0
        moved, self._place = self._place != self.view.at, self.view.at
        self.show(rules.lines(self.view, self.room.width, self.room.height, self.chosen))
        if moved:
            self.scroll_to(0, 0, animate=False, force=True)

    def action_choose(self, by: int) -> None:
        fired = rules.findings(self.view)
        self.chosen = max(0, min(self.chosen + by, len(fired) - 1))
        self.redraw()
        if fired:
            self.reveal(*rules.span(self.view, self.room.width, self.chosen))
