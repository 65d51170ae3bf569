"""Defines the frame of all dialogs: a title, the keys, and a body of lines."""

import asyncio
from collections.abc import Sequence
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
"""Keys with what they do, and the action that a click there takes as they would; empty where it could not."""

WIDTH, MARGIN = 90, 5
"""Cells of a box (the style sheet says the same), and those that border, padding and scrollbar take of them."""
MOST_TYPED = 2_000
"""Characters that a line to type takes."""


class TextEntry(Input):
    """A line to type; unless it `keeps` what was submitted it is empty then, and what is typed on is of the next.

    Its cursor does not blink: an idle screen writes nothing.
    """

    class Cut(Message):
        """What was pasted did not all fit."""

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
        """What is typed is the box's to take, in its order."""
        if isinstance(event, Typed) and isinstance(self.screen, Modal):
            self.screen.take(event)
        else:
            super()._forward_event(event)

    async def action_submit(self) -> None:
        """At once, and by no message: what is typed on would overtake that."""
        text = self.value
        if not self._keeps:
            self.clear()
        if isinstance(self.screen, Modal):
            self.screen.entered(text)

    def put(self, text: str) -> int:
        """Type this over what is marked. Gives how many characters found no room."""
        start, end = sorted(self.selection)
        room = max(0, MOST_TYPED - len(self.value) + end - start)
        if text:
            self.replace(text[:room], start, end)
        return max(0, len(text) - room)

    def paste(self, text: str) -> None:
        """Textual takes the first line only, and nothing of one that is too long."""
        lines = [line for line in text.splitlines() if line.strip()]
        if left_out := self.put(lines[0] if len(lines) == 1 else " ".join(line.strip() for line in lines)):
            self.post_message(self.Cut(left_out))


class Modal(ModalScreen[Answer], Generic[Answer]):
    """Has the keyboard from when it is pushed on: what is typed before its field is there waits for that.

    `view` is the app's, watched rather than bound: what a click on the footer opens is not the app's to Textual.
    """

    AUTO_FOCUS = ""
    view: var[View] = var(View, init=False)

    def __init__(self, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self.left = asyncio.Event()
        """Set when the operator has left it."""
        self._held: list[Typed] | None = []
        """What came before there was anything to type it into."""

    @property
    def keyboard(self) -> Widget | None:
        """What has the keyboard first."""
        return next(iter(self.query(TextEntry)), None)

    def _forward_event(self, event: events.Event) -> None:
        """Textual hands on what nothing has the focus for; the screen itself would only look for a binding."""
        if self._held is not None and isinstance(event, Typed):
            self._held.append(event)
        else:
            super()._forward_event(event)

    def on_mount(self) -> None:
        self.watch(self.app, "view", self._see)  # from now on, for what it is drawn on is there
        self.set_focus(self.keyboard)
        held, self._held = self._held or [], None
        for event in sorted(held, key=lambda event: event.time):
            self.take(event)

    def take(self, event: Typed) -> None:
        """Have this typed here, after what was typed before it."""
        if self._held is not None:
            self._held.append(event)
        else:
            self.post_message(_fresh(event))

    async def on_key(self, event: events.Key) -> None:
        """One by one: Textual would look all keys of a packet up before the first of them has done anything."""
        event.stop()
        field = self.focused
        if not self.is_current:
            _hand_on(self.app.screen, event)
        elif isinstance(field, TextEntry) and event.is_printable and event.character is not None:
            field.put(event.character)
        else:
            with self.app._context():  # a message that this screen sent would not bubble through it
                await self.app._check_bindings(event.key, priority=True) or await self.app._check_bindings(event.key)

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        if not self.is_current:
            _hand_on(self.app.screen, event)
        elif isinstance(self.focused, TextEntry):
            self.focused.paste(event.text)

    def entered(self, text: str) -> None:
        """Enter was pressed in a line to type that held this text."""

    def dismiss(self, result: Answer | None = None) -> AwaitComplete:
        """Once: Textual would take away whatever is on top by then."""
        return super().dismiss(result) if self.is_current else AwaitComplete()

    def _see(self, view: View) -> None:
        self.view = view

    def on_unmount(self) -> None:
        self.left.set()


def _hand_on(screen: Screen[Any], event: Typed) -> None:
    """What was typed before a box had opened, or after it has closed, is the screen's that is on top by then."""
    if isinstance(screen, Modal):
        screen.take(event)
    else:
        (screen.focused or screen)._forward_event(_fresh(event))


def _fresh(event: Typed) -> Typed:
    """Return one that nobody has handled yet."""
    return events.Paste(event.text) if isinstance(event, events.Paste) else events.Key(event.key, event.character)


class BaseScreen(Screen[None]):
    """What boxes open over. Takes its keys one by one: of those that come in one packet with the key that opens a box,
    the app would look all up before it has come to that, and then find what they mean to the box.
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
    """`hint` stands in the lower border, and is clicked there; `reads` lets the keyboard scroll the lines."""

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
            box.border_subtitle = Content(f" {'  ·  '.join(text for text, _ in self._hint)} ")
            yield self.body
            yield self._notice
            yield from self.compose_more()

    def compose_more(self) -> ComposeResult:
        """Return what stands below the lines."""
        yield from ()

    @property
    def keyboard(self) -> Widget | None:
        return super().keyboard or (self.body if self.body.can_focus else None)

    def tell(self, trouble: str) -> None:
        """Say what went wrong in the box itself, until there is something else to say; nothing: with an empty text."""
        self._told = trouble
        self._notice.show(wrapped(f"✗ {trouble}", self.inner, ".bad") if trouble else [])

    def on_text_entry_cut(self, message: TextEntry.Cut) -> None:
        self.tell(str(message))

    def on_resize(self, event: events.Resize) -> None:
        self.tell(self._told)

    @property
    def inner(self) -> int:
        """Cells there are for a line."""
        return min(WIDTH, self.app.size.width) - MARGIN

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._pressed = self._hinted(event.screen_offset)

    async def on_click(self, event: events.Click) -> None:
        """Neither the end of marking text nor the rest of a double click: that one may have opened this very box."""
        if event.chain > 1 or self.selections:
            return
        if event.widget is self.body:
            self.clicked(event.y + self.body.scroll_offset.y)
        elif (action := self._hinted(event.screen_offset)) and action == self._pressed:
            await self.run_action(action)

    def clicked(self, y: int) -> None:
        """The operator clicks on the line `y`, or below the last."""

    def _hinted(self, cell: Offset) -> str:
        """Return the action of what is drawn of the hint there; what is cut off has none."""
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
        """What enter does in a line to type."""
        await self.query(Input).first().action_submit()
