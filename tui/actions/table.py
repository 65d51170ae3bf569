"""Lists all actions: the table from which keys, footer, help and palette are made.

What is done to runs, iterations and hosts is declared in kpd/operations; here stands what a screen adds to that, and
what only a screen can do.
"""

from collections.abc import Callable, Mapping
from typing import Any

from kpd.operations.catalogue import KEYS
from kpd.operations.operation import Group, help_of
from tui.actions import answers, confirm, forms, reasons
from tui.actions.action import Action, reason as reason
from tui.actions.confirm import Confirmation
from tui.actions.keys import written
from tui.actions.targets import pick_of
from tui.model.view import TABS, StatusMessage, View


def key(view: View, id: str) -> str:
    """Return the key of an action, as people write it."""
    return written(view.keys.get(id, BY_ID[id].keys))


ASKS: Mapping[str, Callable[[View], Confirmation | None]] = {
    "skip": confirm.skip,
    "stop": confirm.stop,
    "prune": confirm.prune,
    "review": confirm.gate,
    "allow": confirm.allow,
    "decline": confirm.decline,
    "deploy": confirm.deploy,
    "keep_program": confirm.keep_program,
    "accept": confirm.accept,
    "rollback": confirm.rollback,
    "adopt": confirm.adopt,
    "undo": confirm.undo,
    "memo": confirm.memo,
    "trust": confirm.trust,
}
"""The question before an operation, by the id of its key."""
TYPES = ("steer", "edit")
"""Operations with a dialog of their own, or an editor."""
FORMS = {"run": forms.run, "budget": forms.budget, "agent": forms.agent}
ANSWERS: Mapping[str, Callable[[Any], StatusMessage]] = {
    "profile": answers.profiled,
    "check_hosts": answers.hosts_now,
    "check_host": answers.hosts_now,
    "retry_link": answers.hosts_now,
}


def _operations(group: Group) -> tuple[Action, ...]:
    return tuple(
        Action(
            key.id, key.keys, key.label, key.help or help_of(kind), group, pick=pick_of(kind, key),
            ask=ASKS.get(key.id) or confirm.words(kind, key),
            form=FORMS.get(key.id), answer=ANSWERS.get(key.id), rank=key.rank, rare=key.rare,
            types=key.id in TYPES,
        )
        for kind, key in KEYS
        if key.group == group
    )  # fmt: skip


_COMPARE: tuple[Action, ...] = (
    Action("mark", "v", "mark", "mark an iteration to compare with, or unmark it", "Compare",
           reasons.no_iteration, rank=20),
    Action("compare", "V", "compare", "show the diff against the marked iteration", "Compare",
           reasons.no_mark, rank=14, rare=True),
    Action("against", "i", "against", "compare with the parent, the baseline, the mark", "Compare"),
    Action("split", "w", "side by side", "show the diff side by side, or in one column", "Compare"),
    Action("next_hunk", "full_stop", "next hunk", "the next place where the files differ", "Compare", reasons.no_diff),
    Action("previous_hunk", "comma", "last hunk", "the place before", "Compare", reasons.no_diff),
    Action("skill", "enter", "skill", "open the skill of the chosen rule", "Compare", reasons.no_finding),
)  # fmt: skip

_LOOK: tuple[Action, ...] = (
    *(
        Action(f"tab_{tab}", str(nth), tab.capitalize(), f"go to {tab.capitalize()}", "Look")
        for nth, tab in enumerate(TABS, 1)
    ),
    Action("next_tab", "right_square_bracket", "next tab", "the tab to the right", "Look"),
    Action("previous_tab", "left_square_bracket", "previous tab", "the tab to the left", "Look"),
    Action("focus_left", "h,shift+tab", "left pane", "move the keyboard to the tasks and runs", "Look"),
    Action("focus_right", "l,tab", "right pane", "move the keyboard to the open tab", "Look"),
    Action("zoom", "z", "zoom", "fold the left pane away, or bring it back", "Look"),
    Action("follow", "f,end", "follow", "select the newest iteration, and those to come", "Look", reasons.following,
           rank=14),
    Action("tools", "U", "tools", "which tools agents called, their trials, and the tools they have built", "Look"),
    Action("find", "slash", "filter", "filter the tree; in the log: search it", "Look", rank=21),
    Action("clear", "escape", "clear", "take back the filter or the search, or dismiss a warning", "Look",
           reasons.nothing_to_clear),
    Action("sort", "o", "sort", "order the iterations of a run by age, gain or score", "Look"),
)  # fmt: skip

_KEEP: tuple[Action, ...] = (
    Action("copy_path", "Y", "copy path", "copy the path of the folder, or of the file awaited",
           "Keep", reasons.no_path),
    Action("copy_text", "ctrl+y", "copy text", "copy what the open tab shows: diff, log, …", "Keep"),
    Action("copy_command", "ctrl+e", "copy command", "copy the command for what you last did here, or are looking at",
           "Keep", reasons.no_command),
    Action("copy_kernel", "ctrl+k", "copy kernel", "copy the kernel's source", "Keep", reasons.no_kernel),
    Action("screenshot", "ctrl+s", "screenshot", "keep this screen as an SVG in the run's folder",
           "Keep"),
    Action("open_folder", "E", "open folder", "open the selected folder, or copy its path", "Keep", reasons.no_folder),
)  # fmt: skip

_KPD: tuple[Action, ...] = (
    Action("theme", "ctrl+t", "theme", "the next theme: dark, light, Okabe–Ito, 16 colours", "kpd"),
    Action("palette", "ctrl+p,colon", "palette", "find an act by name", "kpd"),
    Action("help", "question_mark", "help", "all keys and signs", "kpd", rank=90),
    Action("detach", "q", "detach", "leave this screen; the daemon goes on", "kpd", rank=91),
)

PLAYING = _operations("Recording")
ACTIONS: tuple[Action, ...] = (
    *_operations("Run"), *_operations("Review"), *_operations("Iteration"), *_COMPARE, *_operations("Compare"),
    *_operations("Host"), *_LOOK, *_KEEP, *PLAYING, *_KPD,
)  # fmt: skip
BY_ID: dict[str, Action] = {action.id: action for action in ACTIONS}
