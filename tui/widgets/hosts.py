"""Shows the Hosts pane: up and down move between hosts, and scroll within a long one.

While it is in front, the status of the hosts that it shows in full is polled; else nothing happens.
"""

from typing import ClassVar

from textual import events
from textual.binding import Binding
from textual.message import Message
from textual.timer import Timer

from tui.model.device_status import EVERY_S
from tui.panes import hosts
from tui.widgets.pane import Pane


class HostsPane(Pane):
    """The pane of hosts; it reports the host that the operator chooses, and those in sight, but chooses none itself."""

    BINDINGS: ClassVar = [
        Binding("up,k", "choose(-1)", "previous host", show=False),
        Binding("down,j", "choose(1)", "next host", show=False),
    ]

    class Chosen(Message):
        """The message that the operator went to another host."""

        def __init__(self, host: str) -> None:
            super().__init__()
            self.host = host

    class Watched(Message):
        """The message that the operator looks at these hosts, whose figures may be old."""

        def __init__(self, hosts: tuple[str, ...]) -> None:
            super().__init__()
            self.hosts = hosts

    def __init__(self) -> None:
        super().__init__("hosts", hosts.lines)
        self._spans: dict[str, range] = {}
        self._host = ""
        self._watching: Timer | None = None

    def watch_view(self) -> None:
        super().watch_view()
        if not self._in_sight and self._watching is not None:
            self._watching.stop()
            self._watching = None

    @property
    def _in_sight(self) -> bool:
        return self.view.tab == self.tab and self.view.link.state == "up"

    def _watch(self) -> None:
        cards = self.view.state.hosts
        shown = [name for name, span in self._spans.items() if name == self.view.host or len(span) > hosts.FOLDED]
        self.post_message(self.Watched(tuple(name for name in shown if name in cards and cards[name].link == "up")))

    def redraw(self) -> None:
        moved, self._host = self._host != self.view.host, self.view.host
        page = hosts.page(self.view, self.room.width, self.room.height)
        self._spans = page.spans
        span = page.spans.get(self._host)
        self.show(page.lines, span.start if span is not None and len(page.spans) > 1 else None)
        if moved and span is not None:
            self.reveal(span.start, len(span))
        if self._in_sight and self._watching is None:
            self._watching = self.set_interval(EVERY_S, self._watch)
            self._watch()

    def action_choose(self, by: int) -> None:
        """Choose the next host once the end of this one is in sight, else scroll.

        At the first and the last host it only scrolls.
        """
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
