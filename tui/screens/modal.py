"""Defines screens that have the keyboard, and a line to type: no key that is typed for one reaches another."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from textual import events
from textual.await_complete import AwaitComplete
from textual.message import Message
from textual.reactive import var
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Input

from tui.format.text import clean
from tui.model.view import View

Answer = TypeVar("Answer")

Typed = events.Key | events.Paste

MOST_TYPED = 2_000
"""Characters that a line to type takes."""


class TextEntry(Input):
    """A line to type. Unless it `keeps` a text that was submitted, it is empty afterwards and begins the next one.

    Its cursor does not blink: an idle screen writes nothing.
    """

    class Cut(Message):
        """The message that a pasted text did not fit as a whole."""

        def __init__(self, left_out: int) -> None:
            super().__init__()
            self.left_out = left_out

        def __str__(self) -> str:
            return f"the line takes {MOST_TYPED:,} characters: {self.left_out:,} of what was pasted are left out"

    def __init__(self, placeholder: str, value: str = "", keeps: bool = True) -> None:
        super().__init__(value, placeholder=clean(placeholder), select_on_focus=False, max_length=MOST_TYPED)
        self.cursor_blink = False
        self._keeps = keeps

    def _forward_event(self, event: events.Event) -> None:
        """Pass typed events to the dialog, which handles them in the order in which they were typed."""
        if isinstance(event, Typed) and isinstance(self.screen, Modal):
            self.screen.take(event)
        else:
            super()._forward_event(event)

    async def action_submit(self) -> None:
        """Submit the text at once, without a message: keys typed meanwhile would overtake a message."""
        text = self.value
        if not self._keeps:
            self.clear()
        if isinstance(self.screen, Modal):
            self.screen.entered(text)

    def put(self, text: str) -> int:
        """Replace the selected characters by `text`. Return how many characters did not fit."""
        start, end = sorted(self.selection)
        room = max(0, MOST_TYPED - len(self.value) + end - start)
        if text:
            self.replace(text[:room], start, end)
        return max(0, len(text) - room)

    def paste(self, text: str) -> None:
        """Paste all lines as one, as far as there is room.

        Textual's own takes only the first line, and nothing of one that is too long.
        """
        lines = [line for line in text.splitlines() if line.strip()]
        if left_out := self.put(lines[0] if len(lines) == 1 else " ".join(line.strip() for line in lines)):
            self.post_message(self.Cut(left_out))


class Modal(ModalScreen[Answer], Generic[Answer]):
    """A screen that has the keyboard from when it is opened: keys typed before its field exists are kept for it.

    `view` is the app's, watched rather than bound: for a dialog opened by a click on the footer, Textual does not
    accept a binding to the app.
    """

    AUTO_FOCUS = ""
    view: var[View] = var(View, init=False)

    def __init__(self, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self.left = asyncio.Event()
        """Set when the operator has left it."""
        self._held: list[Typed] | None = []
        """What came before there was anything to type it into."""
        self.sends: Callable[[Answer], Awaitable[str]] | None = None
        """Sends an answer, and returns why it was refused; without it, an answer only closes the dialog."""
        self.late = False
        """Set for one that opens by itself: what was typed before the operator could see it is dropped."""
        self.closed_to_keys = False
        """Set once it has its answer: what is typed behind that is meant neither for it nor for the screen below."""

    @property
    def keyboard(self) -> Widget | None:
        """The widget that has the keyboard first."""
        return next(iter(self.query(TextEntry)), None)

    def _forward_event(self, event: events.Event) -> None:
        """Hold typed events back until the dialog is drawn; the screen would only look for their key bindings."""
        if self._held is not None and isinstance(event, Typed):
            self._held.append(event)
        else:
            super()._forward_event(event)

    def on_mount(self) -> None:
        self.watch(self.app, "view", self._see)  # only now, because its widgets exist now
        self.set_focus(self.keyboard)
        held, self._held = self._held or [], None
        if self.late:
            self.close_to_keys_until_seen()
            return
        for event in sorted(held, key=lambda event: event.time):
            self.take(event)

    def close_to_keys_until_seen(self) -> None:
        """Drop what was typed before the operator can see what this dialog asks now."""
        self.closed_to_keys = True
        self.call_after_refresh(self._open_to_keys)

    def _open_to_keys(self) -> None:
        self.closed_to_keys = False

    def take(self, event: Typed) -> None:
        """Handle a typed event in this dialog, after those that came before it."""
        if self._held is not None:
            self._held.append(event)
        else:
            self.post_message(_fresh(event))

    async def on_key(self, event: events.Key) -> None:
        """Handle one key at a time: Textual would look up all keys of a packet before the first takes effect."""
        event.stop()
        field = self.focused
        if self.closed_to_keys and event.key != "escape":
            return
        if not self.is_current:
            _hand_on(self.app.screen, event)
        elif isinstance(field, TextEntry) and event.is_printable and event.character is not None:
            field.put(event.character)
        else:
            with self.app._context():  # a message that this screen sent would not bubble through it
                await self.app._check_bindings(event.key, priority=True) or await self.app._check_bindings(event.key)

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        if self.closed_to_keys:
            return
        if not self.is_current:
            _hand_on(self.app.screen, event)
        elif isinstance(self.focused, TextEntry):
            self.focused.paste(event.text)

    def entered(self, text: str) -> None:
        """Handle a text that was submitted with enter in an entry line."""

    def answer(self, answer: Answer) -> None:
        """Answer this dialog, which takes no more keys then.

        If the answer is sent somewhere, the dialog stays until it has arrived, and also where it was refused.
        """
        if self.closed_to_keys:
            return
        self.closed_to_keys = True
        if self.sends is None:
            self.dismiss(answer)
        else:
            self.app.run_worker(self._until_sent(self.sends(answer)), group="send")

    async def _until_sent(self, sent: Awaitable[str]) -> None:
        why = await sent
        if why and self.is_current:
            self.closed_to_keys = False
            self.refused(why)
        else:
            self.dismiss()

    def refused(self, why: str) -> None:
        """Show why the answer was refused."""

    def dismiss(self, result: Answer | None = None) -> AwaitComplete:
        """Close this dialog if it is on top: closing it twice would close the screen below."""
        return super().dismiss(result) if self.is_current else AwaitComplete()

    def _see(self, view: View) -> None:
        self.view = view

    def on_unmount(self) -> None:
        self.left.set()


def _hand_on(screen: Screen[Any], event: Typed) -> None:
    """Pass on what was typed before a dialog opened or after it closed, to the screen that is on top now."""
    if isinstance(screen, Modal):
        screen.take(event)
    else:
        (screen.focused or screen)._forward_event(_fresh(event))


def _fresh(event: Typed) -> Typed:
    """Return a copy of the event that nobody has handled yet."""
    return events.Paste(event.text) if isinstance(event, events.Paste) else events.Key(event.key, event.character)


class BaseScreen(Screen[None]):
    """The screen below dialogs; it handles keys one by one.

    The app would look up all keys of a packet before the first of them opens a dialog, and then apply the rest to the
    dialog.
    """

    async def on_key(self, event: events.Key) -> None:
        event.stop()
        if isinstance(top := self.app.screen, Modal):
            _hand_on(top, event)
        else:
            with self.app._context():  # a message that this screen sent would not bubble through it
                await self.app._check_bindings(event.key)

    def on_paste(self, event: events.Paste) -> None:
        if isinstance(top := self.app.screen, Modal):
            _hand_on(top, event)
