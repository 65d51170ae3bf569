"""Lays out the main screen: header, tasks and runs on the left, tabs on the right, prompt and footer."""

from collections.abc import Callable

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.geometry import Size
from textual.reactive import var
from textual.style import Style
from textual.widgets import ContentSwitcher

from tui.format.styles import style_of
from tui.model.view import View
from tui.panes import bars, memo, metrics, outline, playback
from tui.widgets.hosts import HostsPane
from tui.widgets.lines import Lines
from tui.widgets.overview import OverviewPane
from tui.widgets.pane import DiffPane, LogPane, Pane, RulesPane
from tui.widgets.tree import Tree

DrawBar = Callable[[View, int], list[Content]]


class Bar(Lines, can_focus=False):
    """A bar with the lines that `draw` makes of the view; it is hidden when there are none."""

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
        return style_of(self.app, "key-here") if style == ".key" and self.below else super().styled(style)

    def watch_below(self) -> None:
        self.refresh()


WIDE, WIDEST, TALL = 110, 200, 30
"""From so many columns and rows on, the panes get more room."""


class Board(Vertical):
    """The layout of the view; it moves the keyboard between its sides, and knows nothing of what actions do."""

    view: var[View] = var(View, init=False)
    _borrowed = False

    def compose(self) -> ComposeResult:
        self._fit(self.app.size)
        yield Bar(playback.bar, "playing").data_bind(Board.view)
        yield Bar(bars.header, "header").data_bind(Board.view)
        yield Bar(bars.banner, "banner").data_bind(Board.view)
        with Horizontal(id="body"):
            with Vertical(id="left"):
                yield Bar(outline.header, "columns").data_bind(Board.view)
                yield Tree("tree").data_bind(Board.view)
            with Vertical(id="right"):
                yield TabBar(bars.tabs, "tabs").data_bind(Board.view)
                with ContentSwitcher(initial="overview", id="panes"):
                    yield OverviewPane().data_bind(Board.view)
                    yield Pane("metrics", metrics.lines).data_bind(Board.view)
                    yield RulesPane().data_bind(Board.view)
                    yield DiffPane().data_bind(Board.view)
                    yield Pane("memo", memo.lines).data_bind(Board.view)
                    yield LogPane().data_bind(Board.view)
                    yield HostsPane().data_bind(Board.view)
        yield Bar(bars.prompt, "prompt").data_bind(Board.view)
        yield Bar(bars.footer, "footer").data_bind(Board.view)

    def on_mount(self) -> None:
        self.focus_left()

    def on_resize(self, event: events.Resize) -> None:
        self._fit(event.size)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self.query_one(TabBar).below = self.query_one("#right") in event.widget.ancestors

    def _fit(self, size: Size) -> None:
        self.set_class(size.width >= WIDE, "wide")
        self.set_class(size.width >= WIDEST, "widest")
        self.set_class(size.height >= TALL, "tall")

    def watch_view(self, before: View, view: View) -> None:
        """Bring the open tab to the front; the keyboard goes along when it was on the one before.

        With the Hosts tab the keyboard always goes along, because the left pane does not matter there, and returns
        afterwards.
        """
        if view.tab == before.tab:
            return
        was_left = not self.query_one("#right").has_focus_within
        self.query_one(ContentSwitcher).current = view.tab
        if view.tab == "hosts":
            self._borrowed = was_left
            self.focus_right()
        elif before.tab == "hosts" and self._borrowed and not self.has_class("zoomed"):
            self._to(Tree)
        elif not was_left:
            self.focus_right()

    @property
    def chosen_finding(self) -> int:
        """The number of the finding that is chosen in the Rules tab."""
        return self.query_one(RulesPane).chosen

    def focus_left(self) -> None:
        self.remove_class("zoomed")
        self._to(Tree)

    def focus_right(self) -> None:
        self._to(f"#{self.view.tab}")

    def _to(self, side: str | type[Tree]) -> None:
        """Move the keyboard to one side. Textual's own `focus` would paint that whole side again."""
        widget = self.query_one(side)
        self.query_one(TabBar).below = self.query_one("#right") in widget.ancestors
        self.screen.set_focus(widget, scroll_visible=False)

    def zoom(self) -> None:
        """Fold the left pane away, or bring it back."""
        if self.has_class("zoomed"):
            self.focus_left()
        else:
            self.add_class("zoomed")
            self.focus_right()
