"""Computes the patch between two candidates."""

import difflib

NONE = "/dev/null"
"""What a patch calls a file that is not there."""


def unified(before: dict[str, bytes], after: dict[str, bytes]) -> str:
    """Compute a patch from `before` to `after`, with files in the order of their names, also new and removed ones."""
    patch: list[str] = []
    for path in sorted(before.keys() | after.keys()):
        old, new = (side.get(path, b"").decode(errors="replace").splitlines(keepends=True) for side in (before, after))
        left, right = (f"a/{path}" if path in before else NONE), (f"b/{path}" if path in after else NONE)
        patch += difflib.unified_diff(old, new, left, right)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in patch)
