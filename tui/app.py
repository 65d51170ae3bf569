"""The application: one frozen view, redrawn at most twice a second for news and at once for keys."""

import asyncio
import math
import os
import time
from collections.abc import Callable, Sequence
from datetime import tzinfo
from typing import Any, ClassVar

from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.reactive import Reactive, var
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from kpd.messages import Push
from kpd.model.events import Event
from kpd.model.state import State
from kpd.workspace.config import TuiConfig
from tui import commands, opening, themes
from tui.actions.keymap import keymap
from tui.actions.table import ACTIONS, BY_ID, key, reason
from tui.format.operator_acts import OperatorAct, operator_act
from tui.format.text import clean
from tui.model.answers import DetailQuery
from tui.model.device_status import DeviceStatusPoller
from tui.model.feed import FIRST_WAIT_S, Connect, Feed, LinkState, follow
from tui.model.outline import newest
from tui.model.view import StatusMessage, View
from tui.model.view_model import ViewModel
from tui.own_actions import OWN
from tui.screens.modal import BaseScreen
from tui.widgets.board import Board
from tui.widgets.hosts import HostsPane
from tui.widgets.tree import Tree

SAID_S = 5.0
"""Seconds that the answer to an action stays, whatever else happens."""


class BoardScreen(BaseScreen):
    """The main screen. Textual's own would be painted as a whole whenever the keyboard moves; this one is not."""

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)


class KpdApp(App[int]):
    """The app: it shows what the daemon sends, and sends what the operator wants; it decides nothing itself."""

    TITLE = "kpd"
    CSS_PATH = "kpd.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar = [Binding(one.keys, f"act('{one.id}')", one.label, show=False, id=one.id) for one in ACTIONS]

    view: var[View] = var(View, init=False)

    def __init__(
        self,
        connect: Connect,
        workspace: str = "",
        config: TuiConfig | None = None,
        read_only: bool = False,
        zone: tzinfo | None = None,
        first_wait: float = FIRST_WAIT_S,
        complaint: str = "",
        clock: Callable[[], float] = lambda: 0.0,
        me: str = "",
        tidy: Callable[[bool], None] = lambda whole: None,
        elsewhere: str = "",
    ) -> None:
        """Create the app; `connect` opens a connection to the daemon.

        `zone` is the time zone of the times shown, None for the local one; `complaint` is shown at the start. `clock`
        returns the Unix time from which ages are counted, in place of the last event's. `me` is the daemon's name for
        this operator, whose own acts are not announced to them. `tidy` is called after news have been painted; its
        argument says whether they were a `whole` state. `elsewhere` is the machine that the workspace is on, if it is
        another one.
        """
        # Textual removes all colours only with ansi_color; otherwise it leaves greys.
        super().__init__(ansi_color=True if themes.no_colour(os.environ) else None)
        self.animation_level = "none"
        self.feed: Feed | None = None
        self._connect = connect
        self._config = config or TuiConfig()
        self._first_wait = first_wait
        self._clock = clock
        self._me = me
        self._tidy = tidy
        self._whole = False
        self._desk = ViewModel()
        self._glances = DeviceStatusPoller()
        self._deed: OperatorAct | None = None
        self._last_publish = 0.0
        self._said_at = math.inf
        self._due: Timer | None = None
        self._fades: Timer | None = None
        keys, refused = keymap(self._config.keys)
        complaint = complaint or self._dress() or refused
        said = StatusMessage(clean(complaint), good=False) if complaint else None
        view = View(
            workspace=workspace, elsewhere=elsewhere, read_only=read_only, zone=zone, said=said, keys=keys,
            filters=self._config.filters,
        )  # fmt: skip
        self.set_reactive(KpdApp.view, view)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return kpd's own variables, which Textual's themes lack."""
        return dict(themes.DARK.variables)

    def get_default_screen(self) -> Screen[None]:
        return BoardScreen(id="_default")

    def compose(self) -> ComposeResult:
        yield Board().data_bind(KpdApp.view)

    def on_mount(self) -> None:
        self.set_keymap(dict(self.view.keys))
        self.run_worker(follow(self._connect, lambda: self._desk.state.seq, self._hear, self._linked, self._first_wait))

    def _dress(self) -> str:
        """Apply the theme of the config. Return a message if there is no theme of that name, else an empty text."""
        for theme in themes.THEMES:
            self.register_theme(theme)
        wanted = themes.fitting(self._config.theme, self.no_color, self.console.color_system)
        known = wanted in self.available_themes
        self.theme = wanted if known else themes.DARK.name
        names = ", ".join(theme.name for theme in themes.THEMES)
        return "" if known else f"config.toml, [tui]: no theme is called {wanted!r}; kpd's own are {names}"

    # ── news ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _hear(self, message: Push) -> None:
        if isinstance(message, Event) and (found := operator_act(message.fact)) is not None and found.by != self._me:
            self._deed = found
        if isinstance(message, State):
            self._desk.hear(message)
            self._whole = True
            self._publish()  # it has all that is needed at the start
        elif self._desk.hear(message):
            self._publish_soon()

    def _linked(self, link: LinkState, feed: Feed | None) -> None:
        self.feed = feed
        if self._desk.linked(link, feed):
            self._publish_soon()

    def _publish_soon(self) -> None:
        """Publish at once after a quiet time, else when the refresh interval is over."""
        if self._due is None:
            wait = self._last_publish + 1 / self._config.refresh_hz - time.monotonic()
            self._due = self.set_timer(max(0.001, wait), self._publish)

    def _publish(self) -> None:
        if self._due is not None:
            self._due.stop()
        self._due = None
        self._last_publish = time.monotonic()
        left = self._said_at + SAID_S - self._last_publish
        said = self.view.said if left > 0 else None
        if self._deed is not None and (said is None or said.others):
            said, self._said_at, left = StatusMessage(str(self._deed), others=True), self._last_publish, SAID_S
            self._deed = None
        if said is not None and left < math.inf and self._fades is None:
            # While nothing happens, an answer stays and is still true: an idle screen is not painted.
            self._fades = self.set_timer(left, self._fade)
        self.change(said=said, looks=self._glances.looks, **self._desk.news())
        self.call_after_refresh(self._tidy, self._whole)
        self._whole = False

    def _fade(self) -> None:
        self._fades = None
        self._publish_soon()

    def change(self, **fields: Any) -> None:
        """Show the next view, and ask for the answers that it lacks."""
        self.view = self._desk.view(self.view, **{"now": self._clock(), **fields})
        feed = self.feed
        if feed is not None and (wanted := self._desk.wanted(self.view)):
            self._ask(feed, wanted)

    @work(group="ask")
    async def _ask(self, feed: Feed, questions: Sequence[DetailQuery]) -> None:
        """Ask the daemon these questions, and show all answers in one paint."""
        first = await asyncio.gather(*(self._desk.details.ask(feed, question) for question in questions))
        here = [
            new
            for new, question in zip(first, questions, strict=True)
            if question.at in (self.view.at, self.view.mark) or question.what in ("rules", "acts", "diary")
        ]
        if any(here):
            self.change()
        elif here:  # the old answers are still shown: no hurry, and under load the next questions follow soon
            self._publish_soon()

    @work(group="look")
    async def _look_at(self, feed: Feed, host: str) -> None:
        if await self._glances.ask(feed, host):
            self._publish_soon()

    def say(self, text: str, good: bool = True) -> None:
        self.show_said(StatusMessage(clean(text), good))

    def show_said(self, said: StatusMessage) -> None:
        self._said_at = time.monotonic()
        self.change(said=said)

    @property
    def board(self) -> Board:
        return self.screen_stack[0].query_one(Board)

    # ── acts ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def action_act(self, id: str) -> None:
        """Run the action of this id, or say why it cannot be taken."""
        action = BY_ID[id]
        if (why := reason(action, self.view)) != "":
            self.say(f"{action.label}: {why}", good=False)
            if action.id == "steer" and commands.may_run_with_note(self.view):
                commands.run_with_note(self)
            elif action.reads:
                opening.refuse(self, action.label.capitalize(), why)
            return
        if self.view.said is not None:
            self.change(said=None)
        if id in OWN:
            OWN[id](self)
        else:
            commands.take(self, action)

    async def action_quit(self) -> None:
        """Quit, as q does; Textual binds ctrl+q to this."""
        self.exit(0)

    def action_help_quit(self) -> None:
        detach, stop = key(self.view, "detach"), key(self.view, "stop")
        self.say(f"{detach} leaves this screen; the daemon goes on. {stop} stops the run.")

    # ── where the operator goes ───────────────────────────────────────────────────────────────────────────────────

    def on_tree_moved(self, message: Tree.Moved) -> None:
        following = message.place == newest(self.view.state, self.view.followed) and message.place.iteration is not None
        self.change(at=message.place, following=following, said=None)

    def on_tree_folded(self, message: Tree.Folded) -> None:
        self._desk.fold(message.place, message.open)
        self.change()

    def on_tree_entered(self) -> None:
        self.board.focus_right()

    def on_hosts_pane_chosen(self, message: HostsPane.Chosen) -> None:
        self.change(host=message.host, said=None)

    def on_overview_pane_ticked(self) -> None:
        if not self._config.low_bandwidth:
            self._publish_soon()

    def on_hosts_pane_watched(self, message: HostsPane.Watched) -> None:
        if self.feed is not None:
            for host in message.hosts:
                self._look_at(self.feed, host)
