"""Computes the patch between two candidates."""

from collections.abc import Mapping

from kpd.text.patches import patch


def unified(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> str:
    """Compute a patch from `before` to `after`, with files in the order of their names."""
    old, new = ({path: data.decode(errors="replace") for path, data in side.items()} for side in (before, after))
    return "".join(patch(old, new))
