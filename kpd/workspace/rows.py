"""Adds rows to files that are read whole: each row is on the disk before its writer goes on."""

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from kpd.model import codec
from kpd.workspace.run_files import read_plain

T = TypeVar("T")


def add_row(path: Path, row: Mapping[str, Any]) -> None:
    """Add a row. What is no UTF-8 in names of programs and files becomes `?`: no reader could take it.

    Raises OSError.
    """
    line = json.dumps(msgspec.to_builtins(row), ensure_ascii=False) + "\n"
    with path.open("ab") as file:
        if file.tell() and not path.read_bytes().endswith(b"\n"):
            file.write(b"\n")  # a row was cut off
        file.write(line.encode(errors="replace"))
        file.flush()
        os.fsync(file.fileno())


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    """Yield all rows; one that was cut off says nothing. Raises NotRegularFile, OSError."""
    for line in read_plain(path).splitlines():
        with contextlib.suppress(codec.CodecError):
            yield codec.decode(line, dict)


def fitting(rows: Iterable[object], kind: type[T]) -> Iterator[T]:
    """Yield those of the rows that are values of this kind, as such; any other says nothing."""
    for row in rows:
        with contextlib.suppress(msgspec.ValidationError):
            yield msgspec.convert(row, kind)
