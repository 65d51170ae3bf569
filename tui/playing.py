"""A recorded run that is played again: the line that says so on every screen, and the acts of its player."""

from collections.abc import Callable, Iterator

from textual.content import Content
from textual.style import Style

from kpd.model.playback import Playback
from tui.action import Action, Args
from tui.captions import caption
from tui.gauge import gauge
from tui.keys import written
from tui.text import clean, line
from tui.view import View

SPEEDS = (1, 2, 4, 8, 16, 32, 64)
GAUGE = 12
_SIGNS = {"playing": "▶", "paused": "‖", "over": "■"}


def bar(view: View, width: int) -> list[Content]:
    """What is played, how fast and how far, and the keys for it as far as there is room; below, what happens in it.

    Nothing for a live daemon.
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


# ── acts ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _no_recording(view: View) -> str:
    return "" if view.state.playback is not None else "this is no recording: `kpd demo` plays one"


def _over(view: View) -> str:
    playback = view.state.playback
    over = playback is not None and playback.state == "over"
    return "the recording is over: play begins it again" if over else _no_recording(view)


def _at_limit(of: int, what: str) -> Callable[[View], str]:
    def why(view: View) -> str:
        playback = view.state.playback
        at_limit = playback is not None and playback.speed == of
        return f"{of}× is the {what}" if at_limit else _no_recording(view)

    return why


def _play(view: View, answer: str) -> Args:
    playback = view.state.playback
    return {"play": playback is None or playback.state != "playing"}


def _times(factor: float) -> Callable[[View, str], Args]:
    def args(view: View, answer: str) -> Args:
        playback = view.state.playback
        return {"speed": int((playback.speed if playback is not None else 1) * factor)}

    return args


def _to(where: str) -> Callable[[View, str], Args]:
    return lambda view, answer: {"to": where}


PLAYING: tuple[Action, ...] = (
    Action("play", "space", "play or pause", "go on with the recording, or pause it", "Recording", _no_recording,
           "playback", _play, told="{state}"),
    Action("to_iteration", "greater_than_sign", "next iteration", "go on to the end of an iteration, and pause",
           "Recording", _over, "playback", _to("iteration"), told="{state}"),
    Action("to_step", "right_parenthesis", "next step", "go on to the end of a step, and pause", "Recording", _over,
           "playback", _to("step"), told="{state}"),
    Action("faster", "plus", "faster", "play twice as fast", "Recording", _at_limit(SPEEDS[-1], "fastest"),
           "playback", _times(2), told="{speed}×"),
    Action("slower", "minus", "slower", "play half as fast", "Recording", _at_limit(SPEEDS[0], "slowest"),
           "playback", _times(0.5), told="{speed}×"),
    Action("to_beginning", "less_than_sign", "from the beginning", "play the recording from its beginning", "Recording",
           _no_recording, "playback", _to("beginning"), told="from the beginning"),
)  # fmt: skip
