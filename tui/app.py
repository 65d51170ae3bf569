"""The terminal UI: one frozen view, redrawn at most twice a second by news and at once by keys."""

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import tzinfo
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.reactive import var
from textual.timer import Timer

from kpd.subscription import Client, DaemonError
from kpd.workspace.config import Config, TuiConfig, load_config
from kpd.workspace.paths import Workspace, WorkspaceError
from kpd.workspace.strict import ConfigError
from tui import asking, themes
from tui.actions import ACTIONS, BY_ID, Action, path_of, reason
from tui.desk import Desk
from tui.details import What
from tui.feed import FIRST_WAIT_S, Connect, Feed, Link, Message, follow
from tui.outline import Place, newest
from tui.panes import rules
from tui.screens.palette import PaletteScreen
from tui.screens.question import QuestionScreen
from tui.screens.reading import ReadingScreen, help_lines, skill_lines
from tui.screens.steering import SteeringScreen
from tui.text import clean
from tui.view import TABS, Said, Tab, View
from tui.widgets.board import Board
from tui.widgets.hosts import HostsPane
from tui.widgets.tree import Tree

_TABS: dict[str, Tab] = {f"tab_{tab}": tab for tab in TABS}

SAID_S = 5.0
"""How long the answer to an act stays in spite of news."""


class KpdApp(App[int]):
    """Shows what the daemon says and sends what the operator wants; decides nothing itself."""

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
    ) -> None:
        """`zone` is that of the times shown, None for the operator's own; `complaint` is said at the start."""
        super().__init__()
        self.animation_level = "none"
        self._connect = connect
        self._config = config or TuiConfig()
        self._first_wait = first_wait
        self._desk = Desk()
        self._feed: Feed | None = None
        self._last_publish = 0.0
        self._said_at = math.inf
        self._due: Timer | None = None
        complaint = complaint or self._dress() or self._unknown_keys()
        said = Said(clean(complaint), good=False) if complaint else None
        keys = {id: key for id, key in self._config.keys.items() if id in BY_ID}
        view = View(workspace=workspace, read_only=read_only, zone=zone, said=said, keys=keys)
        self.set_reactive(KpdApp.view, view)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Textual's own themes lack kpd's variables."""
        return dict(themes.DARK.variables)

    def compose(self) -> ComposeResult:
        yield Board().data_bind(KpdApp.view)

    def on_mount(self) -> None:
        self.set_keymap(dict(self.view.keys))
        self.run_worker(follow(self._connect, lambda: self._desk.state.seq, self._hear, self._linked, self._first_wait))

    def _dress(self) -> str:
        """Put on the theme of the config; what to say if there is none of that name."""
        for theme in themes.THEMES:
            self.register_theme(theme)
        wanted = self._config.theme or themes.DARK.name
        known = wanted in self.available_themes
        self.theme = wanted if known else themes.DARK.name
        names = ", ".join(theme.name for theme in themes.THEMES)
        return "" if known else f"config.toml, [tui]: no theme is called {wanted!r}; kpd's own are {names}"

    def _unknown_keys(self) -> str:
        unknown = next((id for id in self._config.keys if id not in BY_ID), None)
        return "" if unknown is None else f"config.toml, [tui.keys]: no action is called {unknown!r}; ? lists them all"

    # ── news ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _hear(self, message: Message) -> None:
        if self._desk.hear(message):
            self._publish_soon()

    def _linked(self, link: Link, feed: Feed | None) -> None:
        self._feed = feed
        if self._desk.linked(link, feed):
            self._publish_soon()

    def _publish_soon(self) -> None:
        """At once after a quiet time, else when the refresh interval is over."""
        if self._due is None:
            wait = self._last_publish + 1 / self._config.refresh_hz - time.monotonic()
            self._due = self.set_timer(max(0.001, wait), self._publish)

    def _publish(self) -> None:
        self._due = None
        self._last_publish = time.monotonic()
        # The answer to an act goes with the first news after a while: a timer of its own would paint an idle screen.
        said = self.view.said if self._last_publish - self._said_at < SAID_S else None
        self._change(said=said, **self._desk.news())

    def _change(self, **fields: Any) -> None:
        """Show the next view, and ask for what it lacks."""
        self.view = self._desk.view(self.view, **fields)
        feed = self._feed
        if feed is not None:
            for what in self._desk.wanted(self.view):
                self.run_worker(self._ask(feed, self.view.at, what), group="ask")

    async def _ask(self, feed: Feed, at: Place, what: What) -> None:
        await self._desk.details.ask(feed, at, what)
        if at == self.view.at or what == "rules":
            self._change()

    @property
    def _board(self) -> Board:
        return self.screen_stack[0].query_one(Board)

    # ── acts ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def action_act(self, id: str) -> None:
        """Take the action of this id, or say why it cannot be taken."""
        action = BY_ID[id]
        if (why := reason(action, self.view)) != "":
            self._say(f"{action.label}: {why}", good=False)
            return
        if self.view.said is not None:
            self._change(said=None)
        if id in _TABS:
            self._change(tab=_TABS[id])
        elif (own := getattr(self, f"_do_{id}", None)) is not None:
            own()
        elif action.ask is not None:
            self._question(action, action.ask(self.view))
        else:
            self._carry_out(action, action.args(self.view, ""))

    def _question(self, action: Action, question: asking.Question) -> None:
        view = self.view

        def answered(answer: str | None) -> None:
            if answer is not None:
                self._carry_out(action, action.args(view, answer))

        self.push_screen(QuestionScreen(question), answered)

    def _carry_out(self, action: Action, args: Mapping[str, Any]) -> None:
        self.run_worker(self._send(action, args), group="send")

    async def _send(self, action: Action, args: Mapping[str, Any]) -> bool:
        """Whether the daemon did it; what it said is shown either way."""
        if self._feed is None:
            self._say(f"{action.label}: no link to the daemon: `kpd start` brings it back", good=False)
            return False
        if action.answer is not None:
            self._show_said(Said(f"{action.label}: under way", under_way=True))
        try:
            result = await self._feed.command(action.verb, **args)
        except DaemonError as err:
            self._say(f"{action.label}: {err}", good=False)
            if action.id == "rollback" and err.code == "refused" and not args.get("force"):
                self._offer_to_overwrite(action, args, err)
            return False
        if action.answer is not None:
            self._show_said(action.answer(result))
            return True
        known = {**result, **args} if isinstance(result, dict) else args
        self._say(action.told.format_map(_Told(known)))
        return True

    def _offer_to_overwrite(self, action: Action, args: Mapping[str, Any], err: DaemonError) -> None:
        def answered(answer: str | None) -> None:
            if answer is not None:
                self._carry_out(action, {**args, "force": True})

        self.push_screen(QuestionScreen(asking.overwrite(err.message, err.remedy)), answered)

    def _say(self, text: str, good: bool = True) -> None:
        self._show_said(Said(clean(text), good))

    def _show_said(self, said: Said) -> None:
        self._said_at = time.monotonic()
        self._change(said=said)

    def _do_steer(self) -> None:
        run = self.view.at.run

        async def send(text: str, note: int | None) -> bool:
            args = {"run": run, "text": text} | ({} if note is None else {"note": note})
            steer = BY_ID["steer"]
            return await self._send(steer if text else replace(steer, told="note {note} is withdrawn"), args)

        self.push_screen(SteeringScreen(run, send).data_bind(KpdApp.view))

    def _do_next_tab(self) -> None:
        self._change(tab=TABS[(TABS.index(self.view.tab) + 1) % len(TABS)])

    def _do_previous_tab(self) -> None:
        self._change(tab=TABS[TABS.index(self.view.tab) - 1])

    def _do_focus_left(self) -> None:
        self._board.focus_left()

    def _do_focus_right(self) -> None:
        self._board.focus_right()

    def _do_zoom(self) -> None:
        self._board.zoom()

    def _do_follow(self) -> None:
        self._change(following=True)

    def _do_skill(self) -> None:
        fired = rules.findings(self.view)
        self.run_worker(self._show_skill(fired[self._board.chosen_finding].rule), group="send")

    async def _show_skill(self, rule: str) -> None:
        if self._feed is None:
            self._say("skill: no link to the daemon: `kpd start` brings it back", good=False)
            return
        try:
            found = await self._feed.query("skill", id=rule)
        except DaemonError as err:
            self._say(f"skill: {err}", good=False)
            return
        signal, body = (str(found.get(part, "")) if isinstance(found, dict) else "" for part in ("signal", "body"))
        self.push_screen(ReadingScreen(f"Skill {rule}", lambda width: skill_lines(signal, body, width)))

    def _do_copy_path(self) -> None:
        path = path_of(self.view)
        self.copy_to_clipboard(path)
        self._say(f"copied, if this terminal allows it: {path}")

    def _do_theme(self) -> None:
        self.theme = themes.after(self.theme)
        self._say(f"theme {self.theme}; [tui] theme in config.toml keeps it")

    def _do_palette(self) -> None:
        def chosen(id: str | None) -> None:
            if id is not None:
                self.action_act(id)

        self.push_screen(PaletteScreen(self.view), chosen)

    def _do_help(self) -> None:
        self.push_screen(ReadingScreen("Keys and signs", lambda width: help_lines(self.view, width)))

    def _do_detach(self) -> None:
        self.exit(0)

    async def action_quit(self) -> None:
        """Textual's own ctrl+q means the same as q."""
        self._do_detach()

    def action_help_quit(self) -> None:
        self._say("q leaves this screen; the daemon goes on. S stops the run.")

    # ── where the operator goes ───────────────────────────────────────────────────────────────────────────────────

    def on_tree_moved(self, message: Tree.Moved) -> None:
        following = message.place == newest(self.view.state) and message.place.iteration is not None
        self._change(at=message.place, following=following, said=None)

    def on_tree_folded(self, message: Tree.Folded) -> None:
        self._desk.fold(message.place, message.open)
        self._change()

    def on_tree_entered(self) -> None:
        self._do_focus_right()

    def on_hosts_pane_chosen(self, message: HostsPane.Chosen) -> None:
        self._change(host=message.host, said=None)


class _Told(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return "it"


def run(workspace: Workspace, read_only: bool = False) -> int:
    """The UI on the workspace's daemon, until the operator detaches. Gives the exit code."""
    complaint = ""
    try:
        config = load_config(workspace)
    except ConfigError as err:
        config, complaint = Config(), str(err)

    async def connect() -> Feed:
        try:
            client = Client(workspace.socket, "tui", read_only)
        except WorkspaceError as err:
            raise DaemonError("infra", err.message, err.remedy) from err
        try:
            await client.connect()
        except BaseException:
            await client.close()
            raise
        return client

    app = KpdApp(connect, workspace.root.name, config.tui, read_only, complaint=complaint)
    app.run()
    return app.return_code or 0
