"""Reads the environment: the keys of agents, what kpd's child processes get of it, and the operator's editor."""

import os
import shlex
from collections import ChainMap
from collections.abc import Mapping

from kpd.workspace.paths import WorkspaceError

PASSED = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "HOME", "TMPDIR", "SYSTEMROOT")


def child_environment() -> dict[str, str]:
    """Return the environment variables that Python and a native library need to run, and no others."""
    return {name: os.environ[name] for name in PASSED if name in os.environ}


_taken: dict[str, str] = {}


def take_key(name: str) -> None:
    """Take a key out of the environment, so that no child process gets it; `keys` still has it."""
    if name in os.environ:
        _taken[name] = os.environ.pop(name)


def keys() -> Mapping[str, str]:
    """Return the environment, with the keys that were taken out of it. A variable that is set again counts."""
    return ChainMap(os.environ, _taken)


DEFAULT = "vi"
REMEDY = "set $VISUAL or $EDITOR to a program and its arguments"


def editor() -> list[str]:
    """Return the editor's program and arguments: $VISUAL, else $EDITOR, else vi; blank values are ignored.

    Raises WorkspaceError where the value cannot be split into words.
    """
    named = ((name, os.environ.get(name, "").strip()) for name in ("VISUAL", "EDITOR"))
    name, wanted = next((one for one in named if one[1]), ("", DEFAULT))
    try:
        return shlex.split(wanted)
    except ValueError as err:
        raise WorkspaceError(f"${name} cannot be read: {err}", REMEDY) from err
