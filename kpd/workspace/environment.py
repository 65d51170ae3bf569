"""Reads the environment: what kpd's child processes get of it (no keys of agents), and the operator's editor."""

import os
import shlex

from kpd.workspace.paths import WorkspaceError

PASSED = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "HOME", "TMPDIR", "SYSTEMROOT")


def child_environment() -> dict[str, str]:
    """Enough to run Python and a native library."""
    return {name: os.environ[name] for name in PASSED if name in os.environ}


DEFAULT = "vi"
REMEDY = "set $VISUAL or $EDITOR to a program and its arguments"


def editor() -> list[str]:
    """Return the program and its arguments: $VISUAL, else $EDITOR, else vi. Blank ones do not count. Raises WorkspaceError."""
    named = ((name, os.environ.get(name, "").strip()) for name in ("VISUAL", "EDITOR"))
    name, wanted = next((one for one in named if one[1]), ("", DEFAULT))
    try:
        return shlex.split(wanted)
    except ValueError as err:
        raise WorkspaceError(f"${name} cannot be read: {err}", REMEDY) from err
