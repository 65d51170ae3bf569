"""Shows the steering queue of a run: write a note, withdraw it, or change it until an iteration has read it."""

from collections.abc import Awaitable, Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content

from kpd.model.run import Steering
from tui.format.text import BLANK, Part, clean, fit, line, wrapped
from tui.screens.dialog import Dialog
from tui.screens.modal import TextEntry

Send = Callable[[str, int | None], Awaitable[str]]
"""Sends a note's text, with its number when there is one; an empty text withdraws it. Tells why it was not taken."""

MOST_CONSUMED = 5


class SteeringScreen(Dialog[None]):
    """The steering queue. Enter sends the note; up and down choose a queued note to change, ctrl+d withdraws it.

    Texts not yet sent are kept for each note. `draft` is the first text of `note`, or of a new note without one;
    `trouble` says why it is there.
    """

    BINDINGS: ClassVar = [
        Binding("up", "choose(-1)", "previous note", show=False),
        Binding("down", "choose(1)", "next note", show=False),
        Binding("ctrl+d", "withdraw", "withdraw", show=False, priority=True),
    ]

    def __init__(self, run: str, send: Send, draft: str = "", trouble: str = "", note: int | None = None) -> None:
        hint = (("⏎ send", "submit"), ("↑↓ choose a note to change", ""), ("^d withdraw", "withdraw"))
        super().__init__(f"Steer {run}", (*hint, ("esc close", "cancel")))
        self.run_id = run
        self._send = send
        self._editing: int | None = None
        """The queued note that is being changed, or None: a new one is being written."""
        self._original = ""
        """The text of that note when the operator came to it."""
        self._drafts: dict[int | None, str] = {note: draft}
        self._first = note
        self._told = trouble
        self._spans: dict[int, range] = {}
        """The lines of each queued note."""

    def compose_more(self) -> ComposeResult:
        yield TextEntry("What the agent should know or try next", self._drafts.get(None, ""), keeps=False)

    @property
    def queued(self) -> list[Steering]:
        run = self.view.state.runs.get(self.run_id)
        return [note for note in run.steering if note.consumed_by is None] if run is not None else []

    def on_resize(self, event: events.Resize) -> None:
        self.watch_view()

    def watch_view(self) -> None:
        self._keep()
        queued = {note.note for note in self.queued}
        lost = [note for note in self._drafts if note is not None and note not in queued]
        for note in lost:
            self._drafts[None] = _joined(self._drafts.pop(note), self._drafts.get(None, ""))
            self.tell(f"note {note} is queued no more: what you wrote for it is kept as a new note")
        if self._editing not in queued and (lost or self._editing is not None):
            self._edit(None)
        if self._first in queued:
            self._edit(self._first)
        self._first = None
        self.body.show(self._lines())

    def _lines(self) -> list[Content]:
        run = self.view.state.runs.get(self.run_id)
        notes = run.steering if run is not None else ()
        lines = [BLANK]
        self._spans = {}
        for note in [one for one in notes if one.consumed_by is not None][-MOST_CONSUMED:]:
            lines += self._note(note, (f"given to {self.run_id}.{note.consumed_by}", ".muted"))
        for note in self.queued:
            top = len(lines)
            lines += self._note(note, ("queued", ".accent"))
            self._spans[note.note] = range(top, len(lines))
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
        """Move between the queued notes and the new one, which comes after the last."""
        numbers: list[int | None] = [*(note.note for note in self.queued), None]
        at = numbers.index(self._editing) if self._editing in numbers else len(numbers) - 1
        self._keep()
        self._edit(numbers[max(0, min(at + by, len(numbers) - 1))])
        self.body.show(self._lines())

    def clicked(self, y: int) -> None:
        """Choose the queued note that was clicked; where it is chosen already, go back to a new one."""
        note = next((note for note, span in self._spans.items() if y in span), None)
        if note is not None:
            self._keep()
            self._edit(None if note == self._editing else note)
            self.body.show(self._lines())

    def _keep(self) -> None:
        """Keep what was typed and not sent as the draft of its note."""
        typed = self.query_one(TextEntry).value
        if typed != self._original:
            self._drafts[self._editing] = typed
        else:
            self._drafts.pop(self._editing, None)

    def _edit(self, note: int | None) -> None:
        """Edit a queued note, or a new one (None)."""
        self._editing = note
        self._original = next((one.text for one in self.queued if one.note == note), "")
        field = self.query_one(TextEntry)
        field.value = self._drafts.get(note, self._original)
        field.cursor_position = len(field.value)

    def action_withdraw(self) -> None:
        if self._editing is not None:
            self.query_one(TextEntry).value = ""
            self._deliver("")

    def entered(self, text: str) -> None:
        if text := text.strip():
            self._deliver(text)

    def _deliver(self, text: str) -> None:
        """Send a note, and go on with a new one; what was typed since is kept."""
        note = self._editing
        self._drafts.pop(note, None)
        if note is not None:
            self._drafts[None] = _joined(self._drafts.get(None, ""), self.query_one(TextEntry).value)
            self._edit(None)
            self.body.show(self._lines())
        self.tell("")
        self.app.run_worker(self._sent(text, note), group="send")

    async def _sent(self, text: str, note: int | None) -> None:
        why = await self._send(text, note)
        if why and self in self.app.screen_stack:
            self.tell(why)
            if text:
                self._give_back(text, note)

    def _give_back(self, text: str, note: int | None) -> None:
        """Put a refused note back, before what was typed since; it does not replace the text of another note."""
        note = note if any(one.note == note for one in self.queued) else None
        self._keep()
        self._drafts[note] = _joined(text, self._drafts.get(note, ""))
        if note == self._editing or not self.query_one(TextEntry).value.strip():
            self._edit(note)
            self.body.show(self._lines())


def _joined(first: str, second: str) -> str:
    return " ".join(text for text in (first.strip(), second.strip()) if text)
