"""Holds everything heard from the daemon, and makes the view of it."""

from dataclasses import replace
from typing import Any

from kpd.messages import Push
from kpd.model.events import Event
from kpd.model.fold import fold
from kpd.model.state import State
from kpd.subscription import Dropped, Heartbeat, Live
from kpd.wire import DAEMON_LOG
from tui.model import hosts
from tui.model.answers import DetailQuery, What
from tui.model.details import Details
from tui.model.feed import Feed, LinkState
from tui.model.filtering import parsed
from tui.model.outline import TreePosition, exists, newest, outline
from tui.model.output import Output
from tui.model.selected import compared_with
from tui.model.view import Tab, View

_ASKED_BY: dict[Tab, tuple[What, ...]] = {
    "overview": ("show", "cost"), "metrics": ("show", "cases"), "rules": ("show", "rules"), "diff": ("diff",),
    "memo": ("show", "acts"), "log": ("events", "show", "acts", "diary", "texts"), "hosts": (),
}  # fmt: skip


class ViewModel:
    """The state of the UI: it takes messages as fast as they come, and makes a view only when one is needed."""

    def __init__(self) -> None:
        self.state = State()
        self.link = LinkState()
        self.details = Details()
        self._output = Output()
        self._folds: dict[TreePosition, bool] = {}
        self._refold = False
        self._put_forward: set[TreePosition] = set()

    def hear(self, message: Push) -> bool:
        """Take a message. Return whether there is anything new to show."""
        self.details.hear(message)
        match message:
            case State():
                if message.seq < self.state.seq:  # a new log has begun: all answers belong to the old one
                    self.details, self._output = Details(), Output()
                self.state = message
            case Event():
                self.state = fold(self.state, message)
            case Live() if message.channel != DAEMON_LOG:
                self._output.hear(message, self.state.seq)
            case Dropped():
                self._output.lose(message.count, self.state.seq)
            case Heartbeat():
                return False
        return True

    def linked(self, link: LinkState, feed: Feed | None) -> bool:
        """Note the state of the link. Return whether there is anything new to show."""
        if feed is not None:
            self.details.forget_problems()
        changed, self.link = link != self.link, link
        return changed

    def fold(self, place: TreePosition, open: bool) -> None:
        """Fold or unfold a row of the outline, from the next view on."""
        self._folds[place] = open
        self._refold = True

    def news(self) -> dict[str, Any]:
        """Return the fields of a view that change with messages."""
        return {"state": self.state, "link": self.link, "output": self._output.lines()}

    def view(self, before: View, **fields: Any) -> View:
        """Return the view after `before`: with `fields` replaced, and all that follows from them."""
        view = replace(before, **fields)
        at = view.at
        if (selected := view.state.runs.get(at.run)) is not None:
            at = replace(at, task=selected.task)  # it may have got its task just now
        if view.following or not exists(view.state, at):
            at = newest(view.state, view.followed)
        view = self._outlined(before, replace(view, at=at))
        if view.mark is not None and not exists(view.state, view.mark):
            view = replace(view, mark=None, against="parent" if view.against == "mark" else view.against)
        host = hosts.chosen(view.state, view.host, looking=before.tab == view.tab == "hosts")
        view = self._for_review(replace(view, host=host))
        return replace(view, shown=self.details.shown(view.at, compared_with(view), view.mark))

    def _outlined(self, before: View, view: View) -> View:
        """Return the view with its rows, rebuilt only if they have changed, and with a selection among them."""
        same = view.state is before.state and view.at.run == before.at.run
        refiltered = view.filter != before.filter
        if not same or self._refold or refiltered or view.order != before.order:
            rows = outline(view.state, self._folds, view.at, parsed(view.filter, view.filters), view.order)
            view = replace(view, outline=rows)
            self._refold = False
        if view.following or view.at in view.outline.index:
            return view
        at = view.outline.first if refiltered else view.at.folder
        return replace(view, at=at or view.at)

    def _for_review(self, view: View) -> View:
        """Open the diff of a candidate that waits for review, once, if the operator follows the newest iteration."""
        it = view.iteration
        if it is None or it.review != "waits" or not view.following or view.at in self._put_forward:
            return view
        self._put_forward.add(view.at)
        return replace(view, tab="diff", against="parent")

    def wanted(self, view: View) -> list[DetailQuery]:
        """Return the questions whose answers the open tab shows.

        Costs are asked for only where a run has paid for something.
        """
        left_out = set[What]()
        if view.run is None or not view.run.spend.calls:
            left_out.add("cost")
        if view.tab == "log" and view.iteration is not None:  # its own events include the acts on it
            left_out.add("acts")
        it = view.iteration
        if it is None or (it.outcome is None and it.session is None):  # until it ends, output is received live
            left_out.add("texts")
        asked = [
            DetailQuery(what, view.at, compared_with(view) if what == "diff" else None)
            for what in _ASKED_BY[view.tab]
            if what not in left_out
        ]
        if view.tab == "metrics" and view.mark is not None:
            asked.append(DetailQuery("show", view.mark))
        return [question for question in asked if self.details.wants(question)]
