"""Knows what of this machine belongs to an agent's program: its sandbox opens that, and nothing of the user's."""

import os
from pathlib import Path

BESIDE = ("lib", "lib64", "include", "share")
"""Folders beside one of programs that belong to these programs."""


def installed(program: Path, workspace: Path) -> tuple[str, ...]:
    """Return what an agent's program needs to read: its own package, and the folders on the PATH.

    Outside of the home the programs on the PATH have their libraries beside them; in the home, in
    `~/.local/share` say, other things lie, too. The home and the workspace, and what they lie in, are never among them.
    """
    real, home = program.resolve(), Path.home().resolve()
    modules = [folder for folder in real.parents if folder.name == "node_modules"]
    closed = {home, *home.parents, workspace.resolve(), *workspace.resolve().parents}
    found = [modules[-1] if modules else real if real.parent in closed else real.parent]
    found.append(program if program.parent.resolve() in closed else program.parent)
    for entry in map(Path, os.environ.get("PATH", os.defpath).split(os.pathsep)):
        if entry.is_absolute():
            alone = entry.resolve() in closed or home in entry.resolve().parents
            found += [entry, *(() if alone else (entry.parent / name for name in BESIDE))]
    return tuple(dict.fromkeys(str(path) for path in found if path.resolve() not in closed))
