"""Draws text, the only widget that does: a window on a sequence of lines, which repaints only changed ones."""

from collections.abc import Sequence

from rich.segment import Segment
from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style

from tui.format.styles import style_of


class Lines(ScrollView, can_focus=True):
    """Lines of text, of which only those in sight are rendered; `cursor` is the number of a highlighted line.

    `foot` is shown in the last row of the window, however far the lines are scrolled.
    """

    ALLOW_SELECT = True

    def __init__(self, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.lines: Sequence[Content] = ()
        self.cursor: int | None = None
        self.foot: Content | None = None

    @property
    def room(self) -> Size:
        """The cells for text, without the scrollbars; behind another widget the size that it had in front."""
        width, height = self.container_size
        return Size(max(0, width - self.scrollbar_size_vertical), max(0, height - self.scrollbar_size_horizontal))

    @property
    def window(self) -> int:
        """The number of rows for lines, without the foot."""
        return max(1, self.room.height - (self.foot is not None))

    def show(self, lines: Sequence[Content], cursor: int | None = None, foot: Content | None = None) -> None:
        """Replace the lines. Those that have not changed are not painted again."""
        before, self.lines = self.lines, lines
        was, self.cursor = self.cursor, cursor
        below, self.foot = self.foot, foot
        self._resize(len(lines) + (foot is not None))
        top = self.scroll_offset.y
        for y in range(top, top + self.room.height):
            if not _same(before, lines, y) or (was != cursor and y in (was, cursor)):
                self.refresh_line(y)
        if below is not foot and (below is None or foot is None or not below.is_same(foot)):
            self.refresh_line(top + self.room.height - 1)

    def _resize(self, height: int) -> None:
        """Set the height of what can be scrolled. Textual itself would lay out and paint the whole screen again."""
        if self.virtual_size == (1, height):
            return
        self.set_reactive(Lines.virtual_size, Size(1, height))
        if self.show_vertical_scrollbar:
            self.vertical_scrollbar.window_virtual_size = height
        self.scroll_y = self.validate_scroll_y(self.scroll_y)
        if self.styles.height is not None and self.styles.height.is_auto:
            self.refresh(layout=True)

    def on_focus(self, event: events.Focus) -> None:
        self._lend(event, keyboard=True)

    def on_blur(self, event: events.Blur) -> None:
        self._lend(event, keyboard=False)

    def _lend(self, event: events.Focus | events.Blur, keyboard: bool) -> None:
        """Note that the keyboard comes or goes, and repaint only the cursor. Textual would paint all lines again."""
        event.prevent_default()
        self.has_focus = keyboard
        if self.cursor is not None:
            self.refresh_line(self.cursor)
        if self.parent is not None:
            self.parent.post_message(events.DescendantFocus(self) if keyboard else events.DescendantBlur(self))

    def watch_has_focus(self, has_focus: bool) -> None:
        """Do nothing: no rule of the style sheet depends on the focus of these lines."""

    def render_line(self, y: int) -> Strip:
        width, at = self.room.width, y + self.scroll_offset.y
        base = self.visual_style
        if self.foot is not None and y == self.room.height - 1:
            return self._strip(self.foot.truncate(width, ellipsis=True, pad=True).stylize(".foot"))
        if at >= len(self.lines):
            return Strip.blank(width, base.rich_style)
        line = self.lines[at]
        if at == self.cursor:
            line = line.truncate(width, pad=True).stylize(".cursor")
        selected = self.text_selection
        if selected is not None and (span := selected.get_span(at)) is not None:
            start, end = span
            line = line.stylize(self.screen.get_visual_style("screen--selection"), start, len(line) if end < 0 else end)
        return self._strip(line).apply_offsets(0, at)

    def _strip(self, line: Content) -> Strip:
        width, base = self.room.width, self.visual_style
        segments = [
            Segment(text, style.rich_style) for text, style in line.render(base, end="", parse_style=self.styled)
        ]
        return Strip(segments, line.cell_length).crop_extend(0, width, base.rich_style)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the text selected with the mouse, for copying. Only the selected lines are made."""
        first = selection.start.y if selection.start is not None else 0
        last = selection.end.y if selection.end is not None else len(self.lines)
        wanted = (line.plain for line in self.lines[first : last + 1])
        return selection.extract("\n" * first + "\n".join(wanted)), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    def reveal(self, y: int, height: int = 1) -> None:
        """Scroll as little as needed to bring `height` lines from `y` on into sight."""
        top, room = self.scroll_offset.y, self.window
        if y < top:
            self.scroll_to(y=y, animate=False, force=True)
        elif y + height > top + room:
            self.scroll_to(y=min(y, y + height - room), animate=False, force=True)

    def styled(self, style: str | Style) -> Style:
        """Return the style of `.name`; the cursor stands out while the keyboard is here."""
        if isinstance(style, Style):
            return style
        name = style.removeprefix(".")
        return style_of(self.app, f"{name}-here" if name == "cursor" and self.has_focus else name)


def _same(before: Sequence[Content], after: Sequence[Content], y: int) -> bool:
    if before is after:
        return True
    if y >= len(before) or y >= len(after):
        return y >= len(before) and y >= len(after)
    return before[y].is_same(after[y])
