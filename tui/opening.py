"""Opens every dialog: no other module does, so that no key typed for one reaches the screen below.

What is refused opens a dialog, too, which says why and takes no key but escape. What has to be asked for first opens
at once, and is filled in.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from tui.screens.message import MessageScreen
from tui.screens.modal import Modal

if TYPE_CHECKING:
    from tui.app import KpdApp

Answer = TypeVar("Answer")


def show(app: "KpdApp", screen: Modal[Answer], then: Callable[[Answer | None], None] | None = None) -> None:
    """Open a dialog; `then` gets its answer, or None where it was left."""
    app.push_screen(screen, then)


def ask(app: "KpdApp", screen: Modal[Answer], send: Callable[[Answer], Awaitable[str]]) -> None:
    """Open a dialog that stays until its answer was sent; `send` returns why the answer was refused."""
    screen.sends = send
    app.push_screen(screen)


def refuse(app: "KpdApp", title: str, why: str) -> None:
    """Open, in place of a dialog into which something would be typed, one that says why it cannot be had."""
    app.push_screen(MessageScreen(title, f"✗ {why}", ".bad"))


async def show_late(app: "KpdApp", screen: Modal[Answer]) -> None:
    """Open a dialog that nobody has just asked for, once no other is open: it would take the keys of that one."""
    screen.late = True
    while isinstance(app.screen, Modal):
        await app.screen.left.wait()
    app.push_screen(screen)
