"""Shows a form of a few fields with their present values, or a few choices."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.widgets import Label

from tui.actions.forms import BadEntry, Form, changed
from tui.format.text import BLANK, clean, line, wrapped
from tui.screens.dialog import Dialog
from tui.screens.modal import TextEntry


class FormScreen(Dialog[dict[str, Any]]):
    """A form; its result is the arguments that were changed (none: an empty dict), or None when it was cancelled."""

    BINDINGS: ClassVar = [
        Binding("up", "app.focus_previous", "previous field", show=False),
        Binding("down", "app.focus_next", "next field", show=False),
        Binding("ctrl+e", "spell", "copy the command", show=False, priority=True),
    ]

    def __init__(self, form: Form, entries: Sequence[str] = (), trouble: str = "") -> None:
        """Create the form; `entries` are texts typed before, `trouble` is what was wrong with them."""
        hint = (
            (f"⏎ {form.yes}", "submit"),
            ("↑↓ choose a field", ""),
            ("^e command", "spell"),
            ("esc leave it", "cancel"),
        )
        super().__init__(form.title, hint)
        self.form = form
        self.entries = list(entries) or [field.value for field in form.fields]
        """What was typed, as it was last submitted."""
        self.spell: Callable[[dict[str, Any]], None] = lambda changes: None
        """Copies the command that would do the same."""
        self._told = trouble

    def compose_more(self) -> ComposeResult:
        for field, value in zip(self.form.fields, self.entries, strict=True):
            with Horizontal(classes="field"):
                yield Label(field.label, markup=False)
                entry = TextEntry("What the agent should know or try" if field.long else "", value)
                entry.set_class(field.long, "long")
                yield entry
                if not field.long:
                    yield Label(clean(field.hint), markup=False, classes="hint")

    def tell(self, trouble: str) -> None:
        """Show what went wrong, below the text of the form and apart from its fields."""
        self._told = trouble
        lines = [BLANK]
        for text in self.form.text:
            lines += wrapped(text, self.inner, ".muted")
        lines += [BLANK, *wrapped(f"✗ {trouble}", self.inner, ".bad")] if trouble else []
        self.body.show([*lines, BLANK])

    def entered(self, text: str) -> None:
        if (changes := self._changes()) is not None:
            self.answer(changes)

    def action_spell(self) -> None:
        if (changes := self._changes()) is not None:
            self.spell(changes)

    def _changes(self) -> dict[str, Any] | None:
        """Return the arguments that were changed; where an entry has no valid value, say so and return None."""
        self.entries = [field.value for field in self.query(TextEntry)]
        try:
            return changed(self.form, self.entries)
        except BadEntry as err:
            self.tell(str(err))
            return None


class ChoiceScreen(Dialog[str]):
    """A choice between names; its result is the chosen name, or None."""

    BINDINGS: ClassVar = [
        Binding("up,k", "choose(-1)", "previous", show=False, priority=True),
        Binding("down,j", "choose(1)", "next", show=False, priority=True),
        Binding("enter", "take", "take it", show=False, priority=True),
    ]

    def __init__(self, title: str, names: Sequence[str]) -> None:
        hint = (("⏎ take it", "take"), ("↑↓ choose", ""), ("esc leave it", "cancel"))
        super().__init__(title, hint, reads=True)
        self._names = names
        self._chosen = 0

    def on_mount(self) -> None:
        self._draw()

    def action_choose(self, by: int) -> None:
        self._chosen = max(0, min(self._chosen + by, len(self._names) - 1))
        self._draw()

    def action_take(self) -> None:
        self.answer(self._names[self._chosen])

    def clicked(self, y: int) -> None:
        if y < len(self._names):
            self.answer(self._names[y])

    def _draw(self) -> None:
        self.body.show([line(" ", clean(name)) for name in self._names], self._chosen)
        self.body.reveal(self._chosen)
