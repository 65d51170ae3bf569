"""What an act is: its key, its name, when it can be taken, and the command to the daemon that it becomes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tui.acts.asking import Question
from tui.acts.forms import Form
from tui.model.view import Said, View
from tui.words.text import clean

Group = Literal["Run", "Review", "Iteration", "Compare", "Host", "Look", "Keep", "Recording", "kpd"]
WhyNot = Callable[[View], str]
Args = Mapping[str, Any]
Told = str | Callable[[Args], str]


def always(view: View) -> str:
    return ""


def no_args(view: View, answer: str) -> Args:
    return {}


@dataclass(frozen=True, slots=True)
class Action:
    """`why_not` gives the reason why it cannot be taken now, or nothing.

    With a `verb` it is a command to the daemon, made of `args` and the answer to `ask`, if that has a question, or of
    what was changed in `form`; without, the app's own. `told` is what is said when the daemon has done it, with the
    command's arguments and result filled in; `answer` makes it of the result instead, and because that may take a
    while, the operator is told that it is under way. `rank` is its place in the footer, 0 for none; one that is `rare`
    is left out there while it cannot be taken.
    """

    id: str
    keys: str
    label: str
    help: str
    group: Group
    why_not: WhyNot = always
    verb: str = ""
    args: Callable[[View, str], Args] = no_args
    ask: Callable[[View], Question | None] | None = None
    told: Told = ""
    rank: int = 0
    answer: Callable[[Any], Said] | None = None
    form: Callable[[View], Form] | None = None
    rare: bool = False


def reason(action: Action, view: View) -> str:
    """Why `action` cannot be taken now; an empty text when it can."""
    if action.group == "Recording":
        if view.state.playback is None:
            return action.why_not(view)
    elif action.verb and view.state.playback is not None:
        return "this is a recording: it cannot be changed"
    if action.verb and view.read_only:
        return "this screen is attached read-only: `kpd attach` without --read-only may act"
    if action.verb and view.link.state != "up":
        return no_link(view)
    return action.why_not(view)


def no_link(view: View) -> str:
    """What brings the link back depends on where the daemon is."""
    return f"no link to the daemon: {clean(view.link.remedy) or '`kpd start` brings it back'}"
