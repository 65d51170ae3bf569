"""Writes the difference of two trees as a patch, which `git apply` understands but for new and removed empty files."""

import difflib
from collections.abc import Iterator, Mapping

NOTHING = "/dev/null"


def patch(before: Mapping[str, str], after: Mapping[str, str], old: str = "a", new: str = "b") -> Iterator[str]:
    """Yield the lines of a patch from `before` to `after`, texts by path, in the order of the paths.

    `old` and `new` name the two sides. A file that only moved is a rename; one that is new or gone has no other side.
    """
    moved = _moved(before, after)
    for path in sorted(before.keys() | after.keys()):
        if path in moved:
            yield f"diff --git {old}/{moved[path]} {new}/{path}\nsimilarity index 100%\n"
            yield f"rename from {moved[path]}\nrename to {path}\n"
        elif path not in moved.values():
            yield from _of_file(path, before.get(path), after.get(path), old, new)


def _moved(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """Return for each new file with the text of one that is gone the path that it had."""
    gone = {text: path for path, text in before.items() if path not in after and text}
    return {path: gone.pop(text) for path, text in after.items() if path not in before and text in gone}


def _of_file(path: str, before: str | None, after: str | None, old: str, new: str) -> Iterator[str]:
    if (before is None or after is None) and not before and not after:
        yield f"{path}: {'removed' if after is None else 'new'}, empty\n"
    from_, to = (NOTHING if text is None else f"{side}/{path}" for text, side in ((before, old), (after, new)))
    was, now = (_lines(text or "") for text in (before, after))
    for line in difflib.unified_diff(was, now, from_, to):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    """Split at line feeds alone: git knows no other end of a line."""
    *whole, rest = text.split("\n")
    return [f"{line}\n" for line in whole] + ([rest] if rest else [])
