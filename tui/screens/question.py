"""A question before an act: what is lost by it, and a line to type where one is needed."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.widgets import Input

from tui.asking import Question
from tui.screens.box import Box, entry
from tui.text import BLANK, wrapped


class QuestionScreen(Box[str]):
    """Gives the typed line (empty where none is asked for), or None when the operator thinks better of it."""

    BINDINGS: ClassVar = [("y", "yes", "yes"), ("n", "cancel", "no")]

    def __init__(self, question: Question) -> None:
        typed = question.entry is not None
        hint = f"⏎ {question.yes}  ·  esc leave it" if typed else f"y {question.yes}  ·  n or esc leave it"
        super().__init__(question.title, hint)
        self.question = question

    def compose_more(self) -> ComposeResult:
        if self.question.entry is not None:
            yield entry(self.question.entry, self.question.value)

    def on_mount(self) -> None:
        lines = [BLANK]
        for text in self.question.text:
            lines += [*wrapped(text, self.inner), BLANK]
        self.body.show(lines)

    def action_yes(self) -> None:
        if self.question.entry is None:
            self.dismiss("")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        text = event.value.strip()
        if text or not self.question.required:
            self.dismiss(text)
