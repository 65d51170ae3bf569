"""A few lines across the screen; they take no room while there is nothing to say."""

from collections.abc import Callable

from textual.content import Content
from textual.reactive import var
from textual.style import Style

from tui.model.view import View
from tui.widgets.lines import Lines
from tui.words.looks import look

DrawBar = Callable[[View, int], list[Content]]


class Bar(Lines, can_focus=False):
    """Shows what `draw` makes of the view, and hides when that is nothing."""

    view: var[View] = var(View, init=False)

    def __init__(self, draw: DrawBar, id: str) -> None:
        super().__init__(id=id)
        self._draw = draw

    def watch_view(self) -> None:
        width = self.room.width or self.app.size.width
        lines = self._draw(self.view, width)
        self.display = bool(lines)
        self.show(lines)

    def on_resize(self) -> None:
        self.watch_view()


class TabBar(Bar):
    """The tabs; the open one stands out while the keyboard is below them."""

    below: var[bool] = var(False)

    def styled(self, style: str | Style) -> Style:
        return look(self.app, "key-here") if style == ".key" and self.below else super().styled(style)

    def watch_below(self) -> None:
        self.refresh()
