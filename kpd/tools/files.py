"""Reads and keeps the files of tools that agents have built. A version is named by the content of its files."""

import hashlib
import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

from kpd.model.toolbox import ToolVersion
from kpd.workspace.editable import ignored, is_plain
from kpd.workspace.paths import Workspace, WorkspaceError
from kpd.workspace.run_files import NotRegularFile, digest, read_plain, write_atomic

MOST_FILES = 100
MOST_BYTES = 1 << 20
MOST_FOLDERS = 100
"""Files, bytes and folders of one tool."""
FROZEN = 0o444


class BadTool(WorkspaceError):
    """The error that files are no tool; the message says why, the remedy what to change."""


def read_tool(folder: Path) -> dict[str, bytes]:
    """Read all files of a tool, in which an agent may have put anything, sorted by path.

    Hidden files and those of Python's cache do not count. No link is followed, and nothing opened that could block.
    Raises BadTool for a link, a special file, an odd name, too many or too large files; raises OSError.
    """
    found: dict[str, bytes] = {}
    left = MOST_BYTES
    for count, (at, folders, names, within) in enumerate(os.fwalk(folder)):
        if count == MOST_FOLDERS:
            raise BadTool(f"more than {MOST_FOLDERS} folders", "keep builds and data elsewhere")
        here = "" if Path(at) == folder else f"{Path(at).relative_to(folder).as_posix()}/"
        links = [name for name in folders if _is_link(name, within)]
        folders[:] = sorted(name for name in folders if name not in links and not ignored(name))
        for name in sorted(each for each in (*names, *links) if not ignored(each)):
            path = f"{here}{name}"
            if not is_plain(path):
                raise BadTool(f"a file named {ascii(path)[:100]}", "use letters, digits, . _ + and -")
            if len(found) == MOST_FILES:
                raise BadTool(f"more than {MOST_FILES} files", "keep builds and data elsewhere")
            found[path] = _read(path, name, left, within)
            left -= len(found[path])
    return dict(sorted(found.items()))


def version_of(files: Mapping[str, bytes]) -> str:
    """Return the name of the version that has exactly these files: a sha256."""
    lines = "".join(f"{digest(data)}  {path}\n" for path, data in sorted(files.items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def shelf(workspace: Workspace, tool: str, version: str) -> Path:
    """Return the folder in which the workspace keeps a version."""
    return workspace.memory / "tools" / tool / version


def keep(workspace: Workspace, tool: str, files: Mapping[str, bytes]) -> str:
    """Keep the files in the workspace, and return the name of their version.

    What is there is never replaced. Raises BadTool where that is something else; raises OSError.
    """
    version = version_of(files)
    folder = shelf(workspace, tool, version)
    if os.path.lexists(folder):
        if folder.is_symlink() or not folder.is_dir() or version_of(read_tool(folder)) != version:
            raise BadTool(f"{folder} holds other files than its name says", "remove it")
        return version
    new = folder.with_name(f".{version}")
    lay(new, files)
    new.rename(folder)
    return version


def kept(workspace: Workspace, found: ToolVersion) -> dict[str, bytes]:
    """Read a version's files. Raises BadTool where they are gone or are not that version any more; raises OSError."""
    folder = shelf(workspace, found.tool, found.version)
    if folder.is_symlink() or not folder.is_dir():
        raise BadTool(f"{found.shown} is not in {folder}", "kpd tools retire it, or bring the folder back")
    files = read_tool(folder)
    if version_of(files) != found.version:
        raise BadTool(
            f"the files of {found.shown} were changed in {folder}", "kpd tools import that folder as a new one"
        )
    return files


def lay(folder: Path, files: Mapping[str, bytes]) -> None:
    """Make a new, read-only folder of these files, in place of whatever is there. Raises OSError."""
    if folder.is_symlink():
        folder.unlink()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path, data in files.items():
        write_atomic(folder / path, data)
        (folder / path).chmod(FROZEN)


def _is_link(name: str, within: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=within, follow_symlinks=False).st_mode)
    except FileNotFoundError:  # it has just been removed
        return False


def _read(path: str, name: str, most: int, within: int) -> bytes:
    try:
        return read_plain(Path(name), most, within)
    except NotRegularFile as err:
        raise BadTool(f"{path}: {err.strerror}", f"keep plain files of {MOST_BYTES >> 20} MiB in all") from err
    except OSError as err:
        raise BadTool(f"{path} cannot be read: {err.strerror}", "keep plain files only, no links") from err
