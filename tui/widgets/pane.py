"""Shows the right-hand panes: each draws its tab of the view, and only while it is visible."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.geometry import Size
from textual.reactive import var

from tui.model.answers import Diff
from tui.model.outline import TreePosition
from tui.model.selected import findings
from tui.model.view import Tab, View
from tui.panes import diff, log, rules
from tui.widgets.lines import Lines

DrawPane = Callable[[View, int, int], Sequence[Content]]


class Pane(Lines):
    """A tab's pane. When another place is selected, it begins at the top again."""

    view: var[View] = var(View, init=False)

    def __init__(self, tab: Tab, draw: DrawPane) -> None:
        super().__init__(id=tab)
        self.tab = tab
        self._draw = draw
        self._place = TreePosition()
        self._drawn: tuple[View, Size] | None = None

    def watch_view(self) -> None:
        """Draw what is new. A pane that comes to the front is drawn before it is laid out, in its last size."""
        if self.view.tab == self.tab and self.room.width:
            self._drawn = (self.view, self.room)
            self.redraw()

    def on_resize(self) -> None:
        view, room = self._drawn or (None, None)
        if view is not self.view or room != self.room:
            self.watch_view()

    def redraw(self) -> None:
        moved, self._place = self._place != self.view.at, self.view.at
        self.show(self._draw(self.view, self.room.width, self.room.height))
        if moved:
            self.scroll_to(0, 0, animate=False, force=True)


class DiffPane(Pane):
    """The pane of the Diff tab, with keys from hunk to hunk; the present hunk is highlighted, and its number shown."""

    def __init__(self) -> None:
        super().__init__("diff", diff.lines)
        self.hunk = 0
        self._shown: tuple[object, ...] = ()
        self._hunks: tuple[int, ...] = ()

    def redraw(self) -> None:
        drawn = diff.drawn(self.view, self.room.width, self.room.height)
        self._hunks = drawn.hunks
        answer = self.view.shown.diff
        fresh = (self.view.at, answer.before if isinstance(answer, Diff) else None)
        if fresh != self._shown:
            self.hunk, self._shown = 0, fresh
            self.scroll_to(0, 0, animate=False, force=True)
        self.hunk = max(0, min(self.hunk, len(drawn.hunks) - 1))
        here = drawn.hunks[self.hunk] if len(drawn.hunks) > 1 else None
        self.show(drawn.lines, here, diff.foot(self.view, drawn, self.hunk))

    def next_hunk(self) -> None:
        """Go to the hunk after the one that the operator has reached, by these keys or by scrolling."""
        self._go(self._at() + 1)

    def previous_hunk(self) -> None:
        self._go(self._at() - 1)

    def _go(self, hunk: int) -> None:
        if not self._hunks:
            return
        self.hunk = max(0, min(hunk, len(self._hunks) - 1))
        self.redraw()
        self.scroll_to(y=max(0, self._hunks[self.hunk] - 1), animate=False, force=True)

    def _at(self) -> int:
        """Return the chosen hunk while its beginning is in sight; else the last one that begins above the bottom."""
        top, bottom = self.scroll_offset.y, self.scroll_offset.y + self.window
        if not self._hunks or top <= self._hunks[self.hunk] < bottom:
            return self.hunk
        return max(0, sum(begin < bottom for begin in self._hunks) - 1)


class LogPane(Pane):
    """The pane of the Log tab; it follows the newest line unless it is scrolled up, and n and N go through the matches.

    What the operator looks at stays where it is while lines are added at the end and removed at the top.
    """

    BINDINGS: ClassVar = [
        Binding("n", "match(1)", "next match", show=False),
        Binding("N", "match(-1)", "previous match", show=False),
        Binding("f", "newest", "follow the end", show=False, id="follow"),  # the same key as the act's
    ]

    def __init__(self) -> None:
        super().__init__("log", log.lines)
        self._sheet = log.LogRows(View(), 1)
        self._find = ""
        self._here: int | None = None
        """The line with the match that the operator is at."""
        self._follows = True
        """Whether it was at its end when last drawn or scrolled: in a room that has shrunk it no longer looks so."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether a key means something here now; else it goes to the board."""
        if action == "match":
            return bool(self.view.find)
        return not self._follows or self.view.following if action == "newest" else True

    def redraw(self) -> None:
        moved, self._place = self._place != self.view.at, self.view.at
        follow = moved or self._follows or self._at_the_end
        if moved or not self._sheet.holds(self.view, self.room.width, self.room.height):
            top, here = self._key(self.scroll_offset.y), self._key(self._here)
            self._sheet = log.LogRows(self.view, self.room.width, self.room.height)
            self._here = self._line(here) if here in self._sheet.keys and here else None
            self.show(self._sheet.rows(self._here), None, self.foot)
            if top and not follow:
                self.scroll_to(y=self._line(top), animate=False, force=True)
        self._follows = follow
        if follow:
            self.scroll_to(y=self.max_scroll_y, animate=False, force=True)
        if self.view.find != self._find:
            self._find = self.view.find
            self._begin_search()
        self._refoot()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._follows = self._at_the_end
        if self.view.tab == self.tab:
            self._refoot()

    def action_match(self, by: int) -> None:
        """Go to the next or previous line that matches the search; after the last one comes the first."""
        matches = self._sheet.matches
        if not matches:
            return
        at = self._here if self._here is not None else self.scroll_offset.y - (by > 0)
        further = [y for y in matches if (y > at if by > 0 else y < at)]
        self._go((further or matches)[0 if by > 0 else -1])

    def action_newest(self) -> None:
        self.scroll_to(y=self.max_scroll_y, animate=False, force=True)

    @property
    def _at_the_end(self) -> bool:
        return self.scroll_offset.y >= self.max_scroll_y

    def _begin_search(self) -> None:
        """Go to the first match from the top of the window on; where there is none, to the last one before it."""
        self._here = None
        matches, top = self._sheet.matches, self.scroll_offset.y
        if matches:
            self._go(next((y for y in matches if y >= top), matches[-1]))

    def _go(self, y: int) -> None:
        self._here = y
        self.show(self._sheet.rows(y), None, self.foot)
        if not self.scroll_offset.y <= y < self.scroll_offset.y + self.window:
            self.scroll_to(y=max(0, y - self.window // 2), animate=False, force=True)
        self._refoot()

    def _refoot(self) -> None:
        """Show in the foot the number of matches and of lines below.

        The foot takes a row, so a log that follows its end is scrolled there again.
        """
        follow = self._follows
        below = 0 if follow else max(0, len(self.lines) - self.scroll_offset.y - self.window)
        self.show(self.lines, None, log.foot(self.view, self._sheet.matches, self._here, below))
        if follow and not self._at_the_end:
            self.scroll_to(y=self.max_scroll_y, animate=False, force=True)

    def _key(self, y: int | None) -> int:
        return self._sheet.keys[y] if y is not None and 0 <= y < len(self._sheet.keys) else 0

    def _line(self, key: int) -> int:
        """Return the line that has this key; where it is gone, the oldest line that came after it."""
        keys = self._sheet.keys
        return keys.index(key) if key in keys else next((y for y, one in enumerate(keys) if one > max(key, 0)), 0)


class RulesPane(Pane):
    """The pane of the Rules tab; up, down and a click choose a finding, and enter or a second click opens its skill."""

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
        self.chosen = max(0, min(self.chosen, len(findings(self.view)) - 1))  # a rule that is unpinned may be gone
        moved, self._place = self._place != self.view.at, self.view.at
        self.show(rules.lines(self.view, self.room.width, self.room.height, self.chosen))
        if moved:
            self.scroll_to(0, 0, animate=False, force=True)

    def action_choose(self, by: int) -> None:
        there = findings(self.view)
        self.chosen = max(0, min(self.chosen + by, len(there) - 1))
        self.redraw()
        if there:
            self.reveal(*rules.span(self.view, self.room.width, self.chosen))

    async def on_click(self, event: events.Click) -> None:
        """Choose the finding that was clicked, or open its skill if it is chosen; selecting text is no click."""
        clicked = rules.finding_at(self.view, self.room.width, event.y + self.scroll_offset.y)
        if clicked is None or self.text_selection is not None:
            return
        if clicked == self.chosen:
            event.prevent_default()  # Textual marks the whole pane at the second of two clicks
            await self.run_action("app.act('skill')")
        else:
            self.action_choose(clicked - self.chosen)
