"""The steering queue of a run: write a note, take one back, or change it while no iteration has consumed it."""

from collections.abc import Awaitable, Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.reactive import var
from textual.widgets import Input

from kpd.model.nouns import Steering
from tui.model.view import View
from tui.screens.box import Box, entry
from tui.words.text import BLANK, Part, clean, fit, line, wrapped

Send = Callable[[str, int | None], Awaitable[bool]]
"""Sends a note's text, with its number when there is one; an empty text withdraws it. Tells whether it was taken."""

MOST_CONSUMED = 5


class SteeringScreen(Box[None]):
    """Enter sends what is typed; up and down choose a queued note to change, ctrl+d withdraws it."""

    BINDINGS: ClassVar = [
        Binding("up", "choose(-1)", "previous note", show=False, priority=True),
        Binding("down", "choose(1)", "next note", show=False, priority=True),
        Binding("ctrl+d", "withdraw", "withdraw", show=False, priority=True),
    ]
    view: var[View] = var(View, init=False)

    def __init__(self, run: str, send: Send) -> None:
        super().__init__(f"Steer {run}", "⏎ send  ·  ↑↓ choose a note to change  ·  ^d withdraw  ·  esc close")
        self.run_id = run
        self._send = send
        self._editing: int | None = None

    def compose_more(self) -> ComposeResult:
        yield entry("What the agent should know or try next")

    @property
    def queued(self) -> list[Steering]:
        run = self.view.state.runs.get(self.run_id)
        return [note for note in run.steering if note.consumed_by is None] if run is not None else []

    def on_mount(self) -> None:
        self.watch_view()

    def on_resize(self, event: events.Resize) -> None:
        self.watch_view()

    def watch_view(self) -> None:
        if not self.is_mounted:
            return
        if self._editing is not None and all(note.note != self._editing for note in self.queued):
            self._edit(None)
        self.body.show(self._lines())

    def _lines(self) -> list[Content]:
        run = self.view.state.runs.get(self.run_id)
        notes = run.steering if run is not None else ()
        lines = [BLANK]
        for note in [one for one in notes if one.consumed_by is not None][-MOST_CONSUMED:]:
            lines += self._note(note, (f"given to {self.run_id}.{note.consumed_by}", ".muted"))
        for note in self.queued:
            lines += self._note(note, ("queued", ".accent"))
        if not notes:
            lines += wrapped(
                "No note yet. What you send is given to the agent at the next iteration.", self.inner, ".muted"
            )
        return [*lines, BLANK]

    def _note(self, note: Steering, status: tuple[str, str]) -> list[Content]:
        chosen = note.note == self._editing
        head: list[Part] = [
            ("▸ " if chosen else "  ", ".accent"),
            (fit(str(note.note), 3, right=True), ".muted"),
            "  ",
            status,
        ]
        head.append((f"  {clean(note.by)}" if note.by else "", ".muted"))
        return [
            line(*head),
            *wrapped(note.text, self.inner, "" if note.consumed_by is None else ".muted", indent=7),
        ]

    def action_choose(self, by: int) -> None:
        """Up from a new note goes to the last queued one; down past the last comes back to a new one."""
        numbers: list[int | None] = [*(note.note for note in self.queued), None]
        at = numbers.index(self._editing) if self._editing in numbers else len(numbers) - 1
        self._edit(numbers[max(0, min(at + by, len(numbers) - 1))])
        self.watch_view()

    def _edit(self, note: int | None) -> None:
        self._editing = note
        field = self.query_one(Input)
        field.value = next((one.text for one in self.queued if one.note == note), "")
        field.cursor_position = len(field.value)

    async def action_withdraw(self) -> None:
        if self._editing is not None and await self._send("", self._editing):
            self._edit(None)

    async def on_input_submitted(self, event: Input.Submitted) -> None:
        text = event.value.strip()
        if text and await self._send(text, self._editing):
            self._edit(None)
