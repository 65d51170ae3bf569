"""Keeps the bytecode of libraries that were installed without: to compile torch's sources takes seconds in every job.

It lies in one file, whose hash is compared before a job begins: so no kernel can change what later jobs run. Python
itself compares it with a module's source, and takes what is older for none.
"""

from __future__ import annotations

import contextlib
import importlib.util
import marshal
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

FILE = "bytecode"


def lack(names: Sequence[str]) -> bool:
    """Return whether one of these libraries has no bytecode beside its source."""
    specs = (importlib.util.find_spec(name) for name in names)
    return any(spec is not None and spec.cached is not None and not Path(spec.cached).exists() for spec in specs)


@contextlib.contextmanager
def kept(file: Path) -> Iterator[None]:
    """Keep the bytecode of what is imported in the block, and had none."""
    found: dict[str, bytes] = {}
    own = sys.dont_write_bytecode

    def keep(_: SourceFileLoader, path: str, data: bytes, **__: object) -> None:
        found[path] = bytes(data)

    sys.dont_write_bytecode = False
    try:
        with _loading(set_data=keep):
            yield
    finally:
        sys.dont_write_bytecode = own
        file.write_bytes(marshal.dumps(found))


@contextlib.contextmanager
def used(file: Path) -> Iterator[None]:
    """Let what is imported in the block find the bytecode that was kept, if any was."""
    if not file.exists():
        yield
        return
    known = marshal.loads(file.read_bytes())
    read = SourceFileLoader.get_data

    def get(loader: SourceFileLoader, path: str) -> bytes:
        return known[path] if path in known else read(loader, path)

    with _loading(get_data=get):
        yield


@contextlib.contextmanager
def _loading(**methods: Callable[..., Any]) -> Iterator[None]:
    """Have Python's loader of source files use these methods."""
    own = {name: getattr(SourceFileLoader, name) for name in methods}
    for name, method in methods.items():
        setattr(SourceFileLoader, name, method)
    try:
        yield
    finally:
        for name, method in own.items():
            setattr(SourceFileLoader, name, method)
