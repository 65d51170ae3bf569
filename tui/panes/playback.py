"""Draws the line that says on every screen that a recording is played."""

from collections.abc import Iterator

from textual.content import Content
from textual.style import Style

from kpd.model.playback import Playback
from tui.actions.keys import written
from tui.actions.table import PLAYING
from tui.format.gauge import gauge
from tui.format.text import clean, line
from tui.model.view import View
from tui.panes.captions import caption

GAUGE = 12
_SIGNS = {"playing": "▶", "paused": "‖", "over": "■"}


def bar(view: View, width: int) -> list[Content]:
    """Draw the recording's name, speed, position and keys; below them, a sentence on what happens.

    Parts for which the line has no room are left out. Empty for a live daemon.
    """
    playback = view.state.playback
    if playback is None:
        return []
    found = line((f" {_SIGNS[playback.state]} {clean(playback.label)} ", ".alert"))
    share = _share(view, playback)
    more = [line(f" {playback.speed}×"), line((f"{share:4.0%}", ".muted")), *_keys(view, playback), gauge(share, GAUGE)]
    for part in more:
        longer = Content.assemble(found, "  ", part)
        found = longer if longer.cell_length <= width else found
    told = line((f" {caption(view)}", ".accent"))
    return [found.truncate(width, ellipsis=True), told.truncate(width, ellipsis=True)]


def _share(view: View, playback: Playback) -> float:
    whole = playback.ends - playback.begins
    return 1.0 if playback.state == "over" or whole <= 0 else (view.state.at - playback.begins) / whole


def _keys(view: View, playback: Playback) -> Iterator[Content]:
    play = {"playing": "pause", "paused": "play", "over": "again"}[playback.state]
    for ids, label in (
        (("play",), play), (("to_iteration",), "iteration"), (("to_step",), "step"), (("faster", "slower"), "speed"),
        (("to_beginning",), "restart"),
    ):  # fmt: skip
        yield Content(" ").join([*(_key(view, id) for id in ids), Content(label)])


def _key(view: View, id: str) -> Content:
    action = next(one for one in PLAYING if one.id == id)
    click = Style.from_meta({"@click": f"app.act('{id}')"})
    return line((written(view.keys.get(id, action.keys)), ".key")).stylize(click)
