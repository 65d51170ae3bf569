"""Reads a filter or a search at the foot of the screen; it applies while typing."""

from collections.abc import Callable, Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.style import Style
from textual.widgets import Input, Label

from tui.format.text import clean, clip
from tui.model.filtering import NO_SAVED, names, parsed
from tui.screens.modal import Modal, TextEntry


class FindScreen(Modal[None]):
    """A line for a filter or a search: enter keeps it, escape restores the former one.

    A filter also shows how many iterations it lets through.
    """

    BINDINGS: ClassVar = [("escape", "cancel", "cancel")]

    def __init__(
        self, what: str, value: str, typed: Callable[[str], None], saved: Mapping[str, str] = NO_SAVED
    ) -> None:
        super().__init__(classes="finding")
        self._what = what
        self._saved = saved
        self._before = value
        self._typed = typed
        self._left_out = 0
        """Characters of the last paste that found no room, until something else is typed."""

    def compose(self) -> ComposeResult:
        hint = f"words, or {names(self._saved)}" if self._what == "filter" else "part of a line"
        with Horizontal(classes="finder"):
            yield Label(f" {self._what} / ", markup=False)
            yield TextEntry(hint, self._before)
            yield Label("", markup=False, id="among", classes="hint")
            yield _hint()

    def watch_view(self) -> None:
        self.query_one("#among", Label).update(self._among())

    def _among(self) -> str:
        if self._left_out:
            return f"{self._left_out:,} too many characters"
        if self._what != "filter":
            return ""
        found = self.view.outline
        if unknown := clip(clean(parsed(self.view.filter, self.view.filters).unknown), 16):
            return f"no {unknown} to filter by"
        return f"{found.matching:,} of {found.total:,}" if self.view.filter else ""

    def on_text_entry_cut(self, message: TextEntry.Cut) -> None:
        self._left_out = message.left_out
        self.watch_view()

    def on_input_changed(self, event: Input.Changed) -> None:
        self._left_out = 0
        self.watch_view()
        if self.is_current:
            self._typed(event.value)

    def entered(self, text: str) -> None:
        self.action_keep()

    def action_keep(self) -> None:
        self._typed(self.query_one(TextEntry).value)
        self.answer(None)

    def action_cancel(self) -> None:
        self._typed(self._before)
        self.dismiss()


def _hint() -> Label:
    """Return the hint with the keys, which can be clicked; it does not look like a link."""
    keep, back = (Style.from_meta({"@click": f"screen.{action}"}) for action in ("keep", "cancel"))
    hint = Label(Content.assemble("  ", ("⏎ keep", keep), "  ", ("esc back", back), " "), classes="hint")
    hint.auto_links = False
    return hint
