"""Shows the Overview pane: while it is in front and a step runs, the step's time is updated."""

from textual.message import Message
from textual.timer import Timer

from kpd.model.status import Running
from tui.panes import overview
from tui.widgets.pane import Pane

TICK_S = 1.0


class OverviewPane(Pane):
    """The pane of the Overview tab; it updates only while it is in front and a step is under way."""

    class Ticked(Message):
        """The message that times on the screen have grown."""

    def __init__(self) -> None:
        super().__init__("overview", overview.lines)
        self._ticking: Timer | None = None

    def watch_view(self) -> None:
        super().watch_view()
        if not self._stirs and self._ticking is not None:
            self._ticking.stop()
            self._ticking = None
        elif self._stirs and self._ticking is None:
            self._ticking = self.set_interval(TICK_S, lambda: self.post_message(self.Ticked()))

    @property
    def _stirs(self) -> bool:
        view, it = self.view, self.view.iteration
        at_work = it is not None and it.step is not None and it.outcome is None
        waits = view.run is not None and (not isinstance(view.run.status, Running) or bool(view.run.waiting))
        return view.tab == self.tab and view.link.state == "up" and at_work and not waits and not view.state.held
