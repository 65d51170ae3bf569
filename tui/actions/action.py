"""Defines an action: its key, its label, when it is possible, and its operation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kpd.operations.operation import Group, Operation
from kpd.subscription import DaemonError
from tui.actions.confirm import Confirmation
from tui.actions.forms import Form
from tui.format.text import clean
from tui.model.view import StatusMessage, View

Pick = Callable[[View, str], Operation[Any] | str]
"""The operation that the selection and a typed answer make, or why they make none."""


def always(view: View) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Action:
    """An action of the UI: one of the app's own, or an operation of the daemon.

    For one of the app's own, `why_not` returns why it cannot be taken now, or an empty text. For an operation, `pick`
    makes it from the view and the answer to `ask`, if there is a question; or `form` changes its arguments. `answer`
    makes the message from the daemon's answer, in place of the operation's own; because that may take a while, the
    operator is told that it is under way. `types` says that it reads keys in another way than `ask` and `form`. `rank`
    is the place in the footer, 0 for none; a `rare` action is left out there while it cannot be taken.
    """

    id: str
    keys: str
    label: str
    help: str
    group: Group
    why_not: Callable[[View], str] = always
    pick: Pick | None = None
    ask: Callable[[View], Confirmation | None] | None = None
    form: Callable[[View], Form] | None = None
    answer: Callable[[Any], StatusMessage] | None = None
    rank: int = 0
    rare: bool = False
    types: bool = False

    @property
    def reads(self) -> bool:
        """Whether keys are typed for it once it is taken."""
        return self.types or self.ask is not None or self.form is not None


def reason(action: Action, view: View) -> str:
    """Return why `action` cannot be taken now; an empty text when it can."""
    if action.pick is None:
        return action.why_not(view)
    if action.group == "Recording":
        if view.state.playback is None:
            return "this is not a recording: `kpd demo` plays one"
    elif view.state.playback is not None:
        return "this is a recording: it cannot be changed"
    if view.read_only:
        return "this screen is attached read-only: `kpd attach` without --read-only may act"
    if view.link.state != "up":
        return no_link(view)
    op = action.pick(view, "")
    return op if isinstance(op, str) else _refusal(op, view)


def _refusal(op: Operation[Any], view: View) -> str:
    """Return why the daemon would refuse the operation; after a run has ended, also what "follow" would show."""
    why: DaemonError | None
    try:
        why = op.refused(view.state, op.target(view.state))
    except DaemonError as err:
        why = err
    if why is None:
        return ""
    run, active = view.run, view.state.active
    ended = run is not None and run.over and active is not None
    follow = f"; follow goes to {active.id}, which is under way" if ended and active is not None else ""
    return clean(why.message) + follow


def no_link(view: View) -> str:
    """Return the sentence that there is no link, with the remedy that fits where the daemon runs."""
    return f"no link to the daemon: {clean(view.link.remedy) or '`kpd start` brings it back'}"
