"""The operator's own editor, as the environment names it."""

import os
import shlex

from kpd.workspace.paths import WorkspaceError

DEFAULT = "vi"
REMEDY = "set $EDITOR to a program and its arguments"


def editor() -> list[str]:
    """The program and its arguments: $VISUAL, else $EDITOR, else vi. Raises WorkspaceError."""
    name = next((name for name in ("VISUAL", "EDITOR") if os.environ.get(name)), "")
    wanted = os.environ.get(name) or DEFAULT
    try:
        words = shlex.split(wanted)
    except ValueError as err:
        raise WorkspaceError(f"${name} cannot be read: {err}", REMEDY) from err
    if not words:
        raise WorkspaceError(f"${name} is empty", REMEDY)
    return words
