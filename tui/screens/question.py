"""Asks before an action: says what is lost, and reads a line where one is needed."""

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.content import Content

from tui.actions.confirm import Confirmation
from tui.format.text import BLANK, wrapped
from tui.model.answers import Diff, Problem
from tui.panes.hunks import laid_out
from tui.panes.parts import heading, problem
from tui.panes.patch import parsed
from tui.screens.dialog import Dialog
from tui.screens.modal import TextEntry

MOST_ROWS = 2_000
"""Rows of a diff that are shown before an act; the Diff tab has the rest. A longer one is not approved here."""


class QuestionScreen(Dialog[str]):
    """A question; its answer is the typed line (empty where none is asked for).

    Where the act `writes` files of the operator, enter ends the line, and only `y` takes the act.

    With `reads`, a diff is still to come (`show_diff`), and the keyboard scrolls. `trouble` is what went wrong before.
    """

    BINDINGS: ClassVar = [("y", "yes", "yes"), ("n", "cancel", "no")]

    def __init__(self, question: Confirmation, reads: bool = False, trouble: str = "") -> None:
        typed = question.entry is not None
        yes = (f"⏎ {question.enter}", "submit") if typed else (f"y {question.yes}", "yes")
        hint = [yes, ("esc leave it" if typed else "n or esc leave it", "cancel")]
        scrolls = reads or question.scrolls
        super().__init__(question.title, [*hint, ("↑↓ scroll", "")] if scrolls else hint, tall=reads, reads=scrolls)
        self._reads = reads
        self.question = question
        self._told = trouble
        self._typed = "" if question.entry is None else None
        """The line that was typed, once `y` may be pressed."""
        self._diff: Diff | Problem | None = None

    def compose_more(self) -> ComposeResult:
        if self.question.entry is not None:
            yield TextEntry(self.question.entry, self.question.value)

    def on_mount(self) -> None:
        self._draw()

    def on_resize(self, event: events.Resize) -> None:
        self._draw()

    def show_diff(self, diff: Diff | Problem) -> None:
        """Show the changes that the action would make, now that they are known."""
        self._diff = diff
        if self.is_mounted:
            self._draw()

    def _draw(self) -> None:
        lines = [BLANK]
        for text in self.question.text:
            lines += [*wrapped(text, self.inner), BLANK]
        self.body.show(lines + (_changes(self._shown, self.inner) if self._reads else []))

    @property
    def _shown(self) -> Diff | Problem | None:
        """What is shown of the changes: where they are approved here, all of them or none."""
        if not self.question.approves or not isinstance(self._diff, Diff) or _is_whole(self._diff, self.inner):
            return self._diff
        return Problem(
            "the change is too long to be read here", f"kpd project approve {self._diff.before} shows it all"
        )

    def action_yes(self) -> None:
        if self.question.approves and not isinstance(self._shown, Diff):
            return
        if self._typed is not None:
            self.answer(self._typed)

    def entered(self, text: str) -> None:
        text = text.strip()
        if self.question.required and not text:
            return
        if not self.question.writes:
            self.answer(text)
            return
        self._typed = text
        self.query_one(TextEntry).disabled = True
        self.set_focus(None)
        self.offer(((f"y {self.question.yes}", "yes"), ("n or esc leave it", "cancel")))
        self.close_to_keys_until_seen()


def _is_whole(diff: Diff, width: int) -> bool:
    """Return whether the diff is shown with all its lines, each to its end."""
    cut = any(one.cut for hunk in parsed(diff.text).hunks for one in hunk.lines)
    return not cut and len(laid_out(diff.text, width, split=False).rows) <= MOST_ROWS


def _changes(diff: Diff | Problem | None, width: int) -> list[Content]:
    """Return the lines of the diff that the action would make."""
    if isinstance(diff, Problem):
        return problem(diff, width)
    if diff is None:
        return wrapped("Asking the daemon for the diff.", width, ".muted")
    if not diff.text.strip():
        return wrapped(f"{diff.before} and {diff.after} do not differ in the text of their files.", width, ".muted")
    return [heading(f"{diff.before} → {diff.after}"), *laid_out(diff.text, width, split=False).rows[:MOST_ROWS]]
