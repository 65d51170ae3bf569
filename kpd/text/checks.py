"""Renders what a check could not see."""

from typing import Protocol


class DrawsSizes(Protocol):
    """A check that draws sizes, as `Checked` has them."""

    @property
    def drawn(self) -> int: ...

    @property
    def unchecked(self) -> int: ...


def sizes(found: DrawsSizes) -> str:
    """Say how many of the drawn sizes were not checked, and why; empty where all were."""
    if not found.unchecked:
        return ""
    why = "the task's own kernel gives no right results there"
    return f"{found.unchecked} of {found.drawn} drawn sizes not checked: {why}"
