"""Finds the libraries that a task's Python files import, so that a host that lacks one is told before anything runs."""

import ast
import sys
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

PACKAGES = {"cutlass": "nvidia-cutlass-dsl", "cuda": "cuda-python"}
"""The packages of modules whose names are others."""
NAME_ANOTHER = "name another Python: python = in [build] of task.toml"


def libraries(files: Mapping[str, bytes]) -> tuple[str, ...]:
    """List the modules that the files import at their beginning, without Python's own and those of the task.

    A file that cannot be parsed imports nothing here: its build says what is wrong.
    """
    own = {part for path in files for part in (PurePosixPath(path).stem, PurePosixPath(path).parts[0])}
    found = {name for path, data in files.items() if path.endswith(".py") for name in _imported(data)}
    return tuple(sorted(found - own - sys.stdlib_module_names))


def _imported(data: bytes) -> Iterable[str]:
    try:
        body = ast.parse(data).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for statement in body:
        if isinstance(statement, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
            yield statement.module.partition(".")[0]


def remedy(python: str, missing: Iterable[str]) -> str:
    """Say how to install what is missing there."""
    packages = " ".join(PACKAGES.get(name, name) for name in missing)
    return f"{python} -m pip install {packages} there, or {NAME_ANOTHER}"
