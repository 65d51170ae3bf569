"""The hosts' pane: up and down go from host to host, and through one that is longer than the screen."""

from typing import ClassVar

from textual import events
from textual.binding import Binding
from textual.message import Message

from tui.panes import hosts
from tui.widgets.pane import Pane


class HostsPane(Pane):
    """Says which host the operator chooses, and never chooses by itself."""

    BINDINGS: ClassVar = [
        Binding("up,k", "choose(-1)", "previous host", show=False),
        Binding("down,j", "choose(1)", "next host", show=False),
    ]

    class Chosen(Message):
        """The operator went to another host."""

        def __init__(self, host: str) -> None:
            super().__init__()
            self.host = host

    def __init__(self) -> None:
        super().__init__("hosts", hosts.lines)
        self._spans: dict[str, range] = {}
        self._host = ""

    def redraw(self) -> None:
        moved, self._host = self._host != self.view.host, self.view.host
        page = hosts.page(self.view, self.room.width, self.room.height)
        self._spans = page.spans
        span = page.spans.get(self._host)
        self.show(page.lines, span.start if span is not None and len(page.spans) > 1 else None)
        if moved and span is not None:
            self.reveal(span.start, len(span))

    def action_choose(self, by: int) -> None:
        """The next host, once the end of this one has been in sight; at the first and the last one there is none."""
        names = list(self._spans)
        top, room = self.scroll_offset.y, self.room.height
        span = self._spans.get(self._host, range(0))
        hidden = top - span.start if by < 0 else span.stop - top - room
        at = names.index(self._host) + by if self._host in names else -1
        if hidden > 0:
            self.scroll_to(y=top + by * min(hidden, room - 1), animate=False, force=True)
        elif 0 <= at < len(names):
            self.post_message(self.Chosen(names[at]))
        else:
            self.scroll_to(y=top + by, animate=False, force=True)

    def on_click(self, event: events.Click) -> None:
        y = event.y + self.scroll_offset.y
        clicked = next((name for name, span in self._spans.items() if y in span), None)
        if clicked is not None:
            self.post_message(self.Chosen(clicked))
