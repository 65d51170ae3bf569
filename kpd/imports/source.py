"""Reads a folder that others wrote, in which anything may lie, without running any of it."""

import fnmatch
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kpd.imports.errors import ImportRefused
from kpd.workspace.editable import ignored, is_plain
from kpd.workspace.run_files import MOST_BYTES, NotRegularFile, read_plain
from kpd.workspace.task import MOST_FILES

MOST_TOTAL = 256 << 20
"""The most bytes of all files that are copied."""
PRODUCTS = ("*.so", "*.o", "*.a", "*.pyc", "*.out", "*.exe", "*.egg-info", "*.ncu-rep", "*.nsys-rep")
"""Files that a build or a profiler makes: they are not copied."""
FOLDERS = ("build", "dist", "results", "out", "node_modules", "venv", "env", "wandb", "profile")
"""Folders of builds and of results, likewise."""


@dataclass(frozen=True)
class ForeignFolder:
    """What lies in a folder that others wrote, or the one file that was named.

    `files` are the paths of those that belong to it, with their sizes; `products` what a build or a run made, `empty`
    folders without files; `left_out` are files too large or not regular, each with the reason.
    """

    root: Path
    files: dict[str, int]
    products: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.root.resolve().name

    def has(self, *paths: str) -> bool:
        return all(path in self.files for path in paths)

    def matching(self, *patterns: str) -> tuple[str, ...]:
        """Return the paths that match a glob; a name without a slash matches at the top alone."""
        return tuple(
            path
            for path in self.files
            for pattern in patterns
            if fnmatch.fnmatchcase(path, pattern) and path.count("/") == pattern.count("/")
        )

    def text(self, path: str) -> str:
        """Read a file as text; bytes that are not UTF-8 are replaced. Raises ImportRefused."""
        return self.data(path).decode(errors="replace")

    def data(self, path: str) -> bytes:
        """Read a file. Raises ImportRefused."""
        try:
            return read_plain(self.root / path)
        except OSError as err:
            why = err.strerror if isinstance(err, NotRegularFile) else str(err)
            raise ImportRefused(f"{self.root / path} cannot be read: {why}", "put a plain file there") from err

    @cached_property
    def words(self) -> str:
        """The text of the folder's own description, in small letters; empty without one."""
        found = self.matching("task.md", "prompt.md", "README.md", "readme.md")
        return "\n".join(self.text(path) for path in found)


def read_folder(path: Path) -> ForeignFolder:
    """List what lies at `path`, a folder or one file. Raises ImportRefused."""
    if path.is_file():
        if why := _unusable(path.parent, path, path.name):
            raise ImportRefused(f"{path} cannot become a task: {why}", "name a file of its kind, or a folder")
        return ForeignFolder(path.parent, {path.name: path.stat().st_size})
    if not path.is_dir():
        raise ImportRefused(f"{path}: no such file or folder", "name what is to become a task")
    ignores = _ignores(path)
    files: dict[str, int] = {}
    products: list[str] = []
    left_out: list[str] = []
    empty: list[str] = []
    for at, folders, names in os.walk(path):
        here = "" if Path(at) == path else f"{Path(at).relative_to(path).as_posix()}/"
        links = [name for name in folders if (Path(at) / name).is_symlink()]
        made = [name for name in folders if name not in links and (name in FOLDERS or _fits(f"{here}{name}", ignores))]
        products += [f"{here}{name}/" for name in sorted(made) if not ignored(name)]
        folders[:] = sorted(name for name in folders if not ignored(name) and name not in (*made, *links))
        if here and not folders and not names:
            empty.append(here)
        for name in sorted((*names, *links)):
            inside = f"{here}{name}"
            if ignored(name):
                continue
            if _fits(inside, (*PRODUCTS, *ignores)):
                products.append(inside)
            elif why := _unusable(path, Path(at) / name, inside):
                named = inside if is_plain(inside) else ascii(inside)  # it may look like another one
                left_out.append(f"{named}: {why}")
            else:
                files[inside] = (Path(at) / name).stat().st_size
            if len(files) > MOST_FILES:
                raise ImportRefused(f"{path} has more than {MOST_FILES} files", "name the folder of one task")
    if sum(files.values()) > MOST_TOTAL:
        raise ImportRefused(f"{path} has more than {MOST_TOTAL >> 20} MiB", "keep data elsewhere")
    return ForeignFolder(path, files, tuple(products), tuple(empty), tuple(left_out))


def _unusable(root: Path, path: Path, inside: str) -> str:
    """Return why a file is not copied; empty if it is. Raises ImportRefused for a link that leads out of the folder."""
    if path.is_symlink():
        target = path.resolve()
        if not target.is_relative_to(root.resolve()):
            raise ImportRefused(
                f"{inside} is a link that leads out of {root}, to {target}", "put the file itself there"
            )
        if not target.is_file():
            return "a link to something that is no file"
    if not path.is_file():
        return "not a regular file"
    if path.stat().st_size > MOST_BYTES:
        return f"larger than {MOST_BYTES >> 20} MiB"
    return "" if is_plain(inside) else "a name that tools trip over"


def _ignores(root: Path) -> tuple[str, ...]:
    """Read the plain patterns of the folder's .gitignore; those with ! or in the middle of a path are not followed."""
    try:
        lines = read_plain(root / ".gitignore").decode(errors="replace").splitlines()
    except OSError:  # there is none, or nobody may read it
        return ()
    return tuple(_patterns(lines))


def _patterns(lines: list[str]) -> Iterator[str]:
    for line in map(str.strip, lines):
        pattern = line.strip("/")
        if pattern and not line.startswith(("#", "!")) and "/" not in pattern:
            yield pattern


def _fits(path: str, patterns: tuple[str, ...]) -> bool:
    name = path.rpartition("/")[2]
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
