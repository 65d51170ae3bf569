"""Shows a text to read: the help, made from the table of actions, or a skill."""

import re
from collections.abc import Callable
from itertools import groupby
from typing import ClassVar

from textual import events
from textual.binding import Binding
from textual.content import Content

from tui.actions.action import reason
from tui.actions.keys import written
from tui.actions.table import ACTIONS
from tui.format.marks import COLUMNS, LEGEND
from tui.format.text import BLANK, fit, line, wrapped
from tui.model.view import View
from tui.panes.parts import heading
from tui.screens.dialog import Dialog
from tui.widgets.hosts import HostsPane
from tui.widgets.pane import LogPane, RulesPane
from tui.widgets.tree import Tree

Draw = Callable[[int], list[Content]]
WITHIN = (("the tree", Tree), ("the rules", RulesPane), ("the log", LogPane), ("the hosts", HostsPane))
"""Panes that have keys of their own while the keyboard is in them."""
MEANING = 22
"""Cells of a line of the help before the meaning begins."""
_ITEM = re.compile(r" *([-*]|[0-9]+\.) +")


class ReadingScreen(Dialog[None]):
    """Lines to read, which scroll; `draw` makes them from the width, again with every new view.

    Without `draw` they are still asked for, and `fill` shows them.
    """

    BINDINGS: ClassVar = [("q", "cancel", "close"), ("question_mark", "cancel", "close")]

    def __init__(self, title: str, draw: Draw | None = None) -> None:
        super().__init__(title, (("↑↓ scroll", ""), ("esc close", "cancel")), tall=True, reads=True)
        self._draw = draw or (lambda width: wrapped("Asking the daemon.", width, ".muted"))

    def fill(self, draw: Draw) -> None:
        """Show the lines, now that they are known."""
        self._draw = draw
        if self.is_mounted:
            self.watch_view()

    def on_resize(self, event: events.Resize) -> None:
        self.watch_view()

    def watch_view(self) -> None:
        self.body.show(self._draw(self.inner))


def help_lines(view: View, width: int) -> list[Content]:
    """Draw the help: all actions with their keys and why they cannot be taken now, keys of panes, and signs."""
    found: list[Content] = []
    for group, actions in groupby(ACTIONS, key=lambda action: action.group):
        reasons = {action: reason(action, view) if action.pick is not None else "" for action in actions}
        every = next(iter(reasons.values())) if len(set(reasons.values())) == 1 else ""
        titled = heading(group, (f"not now: {every}", ".off")) if every else heading(group)
        if titled.cell_length <= width:
            found += [BLANK, titled]
        else:
            found += [BLANK, heading(group), *wrapped(f"not now: {every}", width, ".off")]
        for action, why in reasons.items():
            keys = written(view.keys.get(action.id, action.keys), most=2)
            look = ".off" if why else ".key"
            found += _entry(line((fit(keys, 8), look), fit(action.id, MEANING - 8)), action.help, width)
            if why and not every:
                found += wrapped(f"not now: {why}", width, ".off", indent=MEANING)
    for place, widget in WITHIN:
        found += [BLANK, heading(f"In {place}")]
        bindings = (one for one in widget.BINDINGS if isinstance(one, Binding))
        for one in bindings:
            keys = written(view.keys.get(one.id or "", one.key), most=2)
            found += _entry(line((fit(keys, MEANING), ".key")), one.description, width)
    found += [BLANK, heading("Signs")]
    for mark, meaning in LEGEND:
        found += _entry(line((fit(f"{mark.glyph} {mark.word}", MEANING), mark.style)), meaning, width)
    found += [BLANK, heading("Columns")]
    for title, meaning in COLUMNS:
        found += _entry(line((fit(title, MEANING), ".strong")), meaning, width)
    found += [BLANK, heading("Keys of your own", ("in config.toml, by the ids above", ".muted"))]
    return [*found, line("[tui.keys]"), line('pause = "f8"')]


def _entry(head: Content, meaning: str, width: int) -> list[Content]:
    """Draw a key, a sign or a column in the first cells, and its meaning, whole, in the others."""
    first, *others = wrapped(meaning, width - MEANING, ".muted")
    return [Content.assemble(head, first), *(line(" " * MEANING, (other.plain, ".muted")) for other in others)]


def skill_lines(signal: str, body: str, width: int) -> list[Content]:
    """Lay out a skill in `width` cells: headings, paragraphs and lists."""
    found = [*wrapped(signal, width, ".accent"), BLANK] if signal else []
    for text in _blocks(body):
        item = _ITEM.match(text)
        if text.startswith(("#", "**")):
            found += wrapped(text.strip("#* "), width, ".heading")
        elif item is None:
            found += wrapped(text, width) if text else [BLANK]
        else:
            pieces = wrapped(text[item.end() :], width - len(item[0]))
            found += [line(item[0] if piece is pieces[0] else " " * len(item[0]), piece.plain) for piece in pieces]
    return found


def _blocks(body: str) -> list[str]:
    """Split Markdown into headings, paragraphs, list items, lines of code and empty lines, each as one text."""
    found: list[str] = []
    code = False
    for text in body.splitlines():
        begins = not text.strip() or text.startswith(("#", "**", "```")) or _ITEM.match(text)
        if code or begins or not found or not found[-1] or found[-1].startswith(("#", "**", "```")):
            found.append(text.rstrip())
        else:
            found[-1] += f" {text.strip()}"
        code ^= text.startswith("```")
    return found
