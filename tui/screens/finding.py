"""A line at the foot of the screen to filter or to search with: what is typed holds at once."""

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.style import Style
from textual.widgets import Input, Label

from tui.model.filtering import KNOWN, parsed
from tui.screens.box import Entry, Modal
from tui.words.text import clean, clip


class FindScreen(Modal[None]):
    """Enter keeps what was typed, escape brings back what was there before; a filter says how much it lets through."""

    BINDINGS: ClassVar = [("escape", "cancel", "cancel")]

    def __init__(self, what: str, value: str, typed: Callable[[str], None]) -> None:
        super().__init__(classes="finding")
        self._what = what
        self._before = value
        self._typed = typed

    def compose(self) -> ComposeResult:
        hint = f"words, or {KNOWN}" if self._what == "filter" else "part of a line"
        with Horizontal(classes="finder"):
            yield Label(f" {self._what} / ", markup=False)
            yield Entry(hint, self._before)
            yield Label("", markup=False, id="among", classes="hint")
            yield _hint()

    def watch_view(self) -> None:
        if self._what == "filter":
            found = self.view.outline
            unknown = clip(clean(parsed(self.view.filter).unknown), 16)
            among = f"{found.matching:,} of {found.total:,}" if self.view.filter else ""
            self.query_one("#among", Label).update(f"no {unknown}: to filter by" if unknown else among)

    def on_entry_cut(self, message: Entry.Cut) -> None:
        self.query_one("#among", Label).update(f"{message.left_out:,} too many characters")

    def on_input_changed(self, event: Input.Changed) -> None:
        if self._what != "filter":
            self.query_one("#among", Label).update("")
        if self.is_current:
            self._typed(event.value)

    def entered(self, text: str) -> None:
        self.action_keep()

    def action_keep(self) -> None:
        self._typed(self.query_one(Entry).value)
        self.dismiss()

    def action_cancel(self) -> None:
        self._typed(self._before)
        self.dismiss()


def _hint() -> Label:
    """The keys, to be clicked as well; they look like any hint and not like the links of a text."""
    keep, back = (Style.from_meta({"@click": f"screen.{action}"}) for action in ("keep", "cancel"))
    hint = Label(Content.assemble("  ", ("⏎ keep", keep), "  ", ("esc back", back), " "), classes="hint")
    hint.auto_links = False
    return hint
