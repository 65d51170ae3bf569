"""What has been heard from the daemon so far, and the view that follows from it and from where the operator is."""

from dataclasses import replace
from typing import Any

from kpd.model.events import Event
from kpd.model.fold import fold
from kpd.model.nouns import State
from kpd.subscription import Beat, Dropped, Live
from tui import hosts
from tui.details import Details, What
from tui.feed import Feed, Link, Message
from tui.outline import Place, exists, newest, outline
from tui.output import Output
from tui.view import Tab, View

_ASKED_BY: dict[Tab, tuple[What, ...]] = {
    "overview": ("show", "cost"), "metrics": ("show",), "rules": ("show", "rules"), "diff": ("diff",),
    "memo": ("show",), "log": ("events", "show"), "hosts": (),
}  # fmt: skip


class Desk:
    """Takes messages as fast as they come; a view is made of them only when one is wanted."""

    def __init__(self) -> None:
        self.state = State()
        self.link = Link()
        self.details = Details()
        self._output = Output()
        self._folds: dict[Place, bool] = {}
        self._refold = False

    def hear(self, message: Message) -> bool:
        """Take a message; whether there is anything new to show."""
        self.details.hear(message)
        match message:
            case State():
                self.state = message
            case Event():
                self.state = fold(self.state, message)
            case Live():
                self._output.hear(message, self.state.seq)
            case Dropped():
                self._output.lose(message.count, self.state.seq)
            case Beat():
                return False
        return True

    def linked(self, link: Link, feed: Feed | None) -> bool:
        """Take note of the link; whether there is anything new to show."""
        if feed is not None:
            self.details.forget_problems()
        changed, self.link = link != self.link, link
        return changed

    def fold(self, place: Place, open: bool) -> None:
        """Fold or unfold a row of the outline, from the next view on."""
        self._folds[place] = open
        self._refold = True

    def news(self) -> dict[str, Any]:
        """The fields of a view that change with what was heard."""
        return {"state": self.state, "link": self.link, "output": self._output.lines()}

    def view(self, before: View, **fields: Any) -> View:
        """The view after `before`: `fields` replaced, and all that follows from them."""
        view = replace(before, **fields)
        at, rows = view.at, view.outline
        if view.following or not exists(view.state, at):
            at = newest(view.state)
        if self._refold or view.state is not before.state or at.run != before.at.run:
            rows = outline(view.state, self._folds, at)
            self._refold = False
        if not view.following and at not in rows.index:
            at = at.folder
        host = hosts.chosen(view.state, view.host, looking=before.tab == view.tab == "hosts")
        return replace(view, at=at, outline=rows, host=host, shown=self.details.shown(at))

    def wanted(self, view: View) -> list[What]:
        """The questions that the open tab needs answered; a run that has paid for nothing has no accounts."""
        paid = view.run is not None and view.run.spend.calls
        asked = (what for what in _ASKED_BY[view.tab] if what != "cost" or paid)
        return [what for what in asked if self.details.wants(view.at, what)]
