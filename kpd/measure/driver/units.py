"""Finds the translation units of a candidate that is a tree: what a compiler gets of it, file by file."""

import posixpath
import re
from collections.abc import Iterator, Mapping

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)


def units(
    protected: Mapping[str, bytes], files: Mapping[str, bytes], first: str, suffixes: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the paths of what is compiled: `first`, and each source among `files` that no other file includes.

    A source has one of these `suffixes`. The `protected` files are the task's others: they are no units, but may
    include one of `files`, by its path from their own folder or from the task's.
    """
    included = {found for path, data in {**protected, **files}.items() for found in _included(path, data)}
    return (first, *sorted(path for path in files if path.endswith(suffixes) and path not in {first, *included}))


def _included(path: str, data: bytes) -> Iterator[str]:
    for name in _INCLUDE.findall(data):
        for folder in (posixpath.dirname(path), ""):
            found = posixpath.normpath(posixpath.join(folder, name.decode(errors="replace")))
            if found != path:
                yield found
