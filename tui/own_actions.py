"""Names the actions that the app handles itself, by id; all others send a command to the daemon."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tui import commands, copying, editing, navigation
from tui.model.view import TABS

if TYPE_CHECKING:
    from tui.app import KpdApp


def _tab(nth: int) -> "Callable[[KpdApp], None]":
    return lambda app: navigation.tab(app, TABS[nth])


OWN: "Mapping[str, Callable[[KpdApp], None]]" = {
    **{f"tab_{tab}": _tab(nth) for nth, tab in enumerate(TABS)},
    "next_tab": navigation.next_tab,
    "previous_tab": navigation.previous_tab,
    "focus_left": lambda app: app.board.focus_left(),
    "focus_right": lambda app: app.board.focus_right(),
    "zoom": lambda app: app.board.zoom(),
    "follow": navigation.follow,
    "mark": navigation.mark,
    "compare": navigation.compare,
    "against": navigation.against,
    "split": navigation.split,
    "next_hunk": navigation.next_hunk,
    "previous_hunk": navigation.previous_hunk,
    "find": navigation.find,
    "clear": navigation.clear,
    "sort": navigation.sort,
    "theme": navigation.theme,
    "palette": navigation.palette,
    "help": navigation.help,
    "detach": lambda app: app.exit(0),
    "run": commands.new_run,
    "steer": commands.steer,
    "rollback": commands.rollback,
    "deploy": commands.deploy,
    "skill": commands.skill,
    "tools": commands.tools,
    "pin": commands.pin,
    "ban": commands.ban,
    "edit": editing.edit,
    "copy_path": copying.copy_path,
    "copy_text": copying.copy_text,
    "copy_command": copying.copy_command,
    "copy_kernel": copying.copy_kernel,
    "screenshot": copying.screenshot,
    "open_folder": copying.open_folder,
}
