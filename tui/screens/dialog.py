"""Defines the frame of all dialogs: a title, the keys, and a body of lines."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Offset, Region
from textual.message import Message
from textual.reactive import var
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Input

from tui.format.text import clean, wrapped
from tui.model.view import View
from tui.widgets.lines import Lines

Answer = TypeVar("Answer")

Typed = events.Key | events.Paste

Hint = Sequence[tuple[str, str]]
"""Keys with their effect, and the action of a click there; empty where a click has none."""

WIDTH, MARGIN = 90, 5
"""Cells of a dialog (the same as in the style sheet), and those for its border, padding and scrollbar."""
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


class Dialog(Modal[Answer], Generic[Answer]):
    """A dialog. `hint` is in the lower border, where it can be clicked; with `reads` the keyboard scrolls the lines."""

    BINDINGS: ClassVar = [("escape", "cancel", "cancel")]

    def __init__(self, title: str, hint: Hint, tall: bool = False, reads: bool = False) -> None:
        super().__init__()
        self.body = Lines(id="text")
        self.body.can_focus = reads
        self._notice = Lines(id="notice")
        self._notice.can_focus = False
        self._notice.styles.height = "auto"
        self._told = ""
        self._title = title
        self._hint = hint
        self._tall = tall
        self._pressed = ""
        """The action on which the mouse button went down: let go on another, it takes neither."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="box tall" if self._tall else "box") as box:
            box.border_title = Content(f" {clean(self._title)} ")
            box.border_subtitle = _bordered(self._hint)
            yield self.body
            yield self._notice
            yield from self.compose_more()

    def compose_more(self) -> ComposeResult:
        """Yield the widgets below the lines; here none."""
        yield from ()

    @property
    def keyboard(self) -> Widget | None:
        return super().keyboard or (self.body if self.body.can_focus else None)

    def refused(self, why: str) -> None:
        self.tell(why)

    def tell(self, trouble: str) -> None:
        """Show in the dialog what went wrong; an empty text removes it."""
        self._told = trouble
        self._notice.show(wrapped(f"✗ {trouble}", self.inner, ".bad") if trouble else [])

    def on_text_entry_cut(self, message: TextEntry.Cut) -> None:
        self.tell(str(message))

    def on_resize(self, event: events.Resize) -> None:
        self.tell(self._told)

    def offer(self, hint: Hint) -> None:
        """Show other keys in the lower border."""
        self._hint = hint
        self.query_one(".box").border_subtitle = _bordered(hint)

    @property
    def inner(self) -> int:
        """The number of cells in a line."""
        return min(WIDTH, self.app.size.width) - MARGIN

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._pressed = self._hinted(event.screen_offset)

    async def on_click(self, event: events.Click) -> None:
        """Handle a click, but neither the end of a selection nor a double click, which may have opened this dialog."""
        if event.chain > 1 or self.selections:
            return
        if event.widget is self.body:
            self.clicked(event.y + self.body.scroll_offset.y)
        elif (action := self._hinted(event.screen_offset)) and action == self._pressed:
            await self.run_action(action)

    def clicked(self, y: int) -> None:
        """Handle a click on the line `y`, or below the last one."""

    def _hinted(self, cell: Offset) -> str:
        """Return the action of the part of the hint at `cell`; empty where there is none, or where it is cut off."""
        frame = self.query_one(".box")
        x, y = cell - frame.region.offset
        if y != frame.region.height - 1:
            return ""
        drawn = frame.render_lines(Region(0, y, frame.region.width, 1))[0].text
        begin = 0
        for text, action in self._hint:
            begin = drawn.find(text, begin)
            if begin < 0:
                break
            if begin <= x < begin + len(text):
                return action
        return ""

    def action_cancel(self) -> None:
        self.dismiss(None)

    async def action_submit(self) -> None:
        """Submit the entry line, as enter does in it."""
        await self.query(Input).first().action_submit()


def _bordered(hint: Hint) -> Content:
    return Content(f" {'  ·  '.join(text for text, _ in hint)} ")
