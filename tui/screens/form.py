"""A few fields with what holds now: tab goes from one to the next, enter sends what was changed."""

from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.widgets import Input, Label

from tui.acts.forms import BadEntry, Form, changed
from tui.screens.box import Box, entry
from tui.words.text import BLANK, clean, wrapped


class FormScreen(Box[dict[str, Any]]):
    """Gives the arguments that were changed (none: an empty dict), or None when the operator thinks better of it."""

    BINDINGS: ClassVar = [
        Binding("up", "app.focus_previous", "previous field", show=False, priority=True),
        Binding("down", "app.focus_next", "next field", show=False, priority=True),
    ]

    def __init__(self, form: Form) -> None:
        super().__init__(form.title, f"⏎ {form.yes}  ·  ↑↓ choose a field  ·  esc leave it")
        self.form = form

    def compose_more(self) -> ComposeResult:
        for field in self.form.fields:
            with Horizontal(classes="field"):
                yield Label(field.label, markup=False)
                yield entry("", field.value)
                yield Label(clean(field.hint), markup=False, classes="hint")

    def on_mount(self) -> None:
        self._say()
        self.query(Input).first().focus()

    def on_input_submitted(self) -> None:
        try:
            self.dismiss(changed(self.form, [field.value for field in self.query(Input)]))
        except BadEntry as err:
            self._say(str(err))

    def _say(self, trouble: str = "") -> None:
        lines = [BLANK]
        for text in self.form.text:
            lines += wrapped(text, self.inner, ".muted")
        lines += [BLANK, *wrapped(f"✗ {trouble}", self.inner, ".bad")] if trouble else []
        self.body.show([*lines, BLANK])
