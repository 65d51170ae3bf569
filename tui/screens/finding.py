"""A line at the foot of the screen to filter or to search with: what is typed holds at once."""

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.reactive import var
from textual.screen import ModalScreen
from textual.widgets import Input, Label

from tui.model.filtering import KNOWN, parsed
from tui.model.view import View
from tui.screens.box import entry
from tui.words.text import clean, clip


class FindScreen(ModalScreen[None]):
    """Enter keeps what was typed, escape brings back what was there before; a filter says how much it lets through."""

    BINDINGS: ClassVar = [("escape", "cancel", "cancel")]
    view: var[View] = var(View, init=False)

    def __init__(self, what: str, value: str, typed: Callable[[str], None]) -> None:
        super().__init__(classes="finding")
        self._what = what
        self._before = value
        self._typed = typed

    def compose(self) -> ComposeResult:
        hint = f"words, or {KNOWN}" if self._what == "filter" else "part of a line"
        with Horizontal(classes="finder"):
            yield Label(f" {self._what} / ", markup=False)
            yield entry(hint, self._before)
            yield Label("", markup=False, id="among", classes="hint")
            yield Label("  ⏎ keep  esc back ", markup=False, classes="hint")

    def watch_view(self) -> None:
        if self._what == "filter" and self.is_mounted:
            found = self.view.outline
            unknown = clip(clean(parsed(self.view.filter).unknown), 16)
            among = f"{found.matching:,} of {found.total:,}" if self.view.filter else ""
            self.query_one("#among", Label).update(f"no {unknown}: to filter by" if unknown else among)

    def on_input_changed(self, event: Input.Changed) -> None:
        self._typed(event.value)

    def on_input_submitted(self) -> None:
        self.dismiss()

    def action_cancel(self) -> None:
        self._typed(self._before)
        self.dismiss()
