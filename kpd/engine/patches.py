"""Computes the patch between two candidates."""

import difflib


def unified(before: dict[str, bytes], after: dict[str, bytes]) -> str:
    """Compute a patch from `before` to `after`, with files in the order of their names."""
    patch: list[str] = []
    for path in sorted(after):
        old, new = (side.get(path, b"").decode(errors="replace").splitlines(keepends=True) for side in (before, after))
        patch += difflib.unified_diff(old, new, f"a/{path}", f"b/{path}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in patch)
