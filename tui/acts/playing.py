"""The acts of whoever watches a recording."""

from collections.abc import Callable

from kpd.model.playback import SPEEDS
from tui.acts.action import Action, Args
from tui.model.view import View


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
