"""Says something in the place of a dialog or an editor, and keeps what is typed for that from everything else."""

from textual import events

from tui.format.text import BLANK, wrapped
from tui.screens.dialog import Dialog


class MessageScreen(Dialog[None]):
    """A text in a look, such as ".bad"; of all keys only escape does something: it closes it."""

    def __init__(self, title: str, text: str, look: str) -> None:
        super().__init__(title, (("esc close", "cancel"),))
        self._text, self._look = text, look

    def on_resize(self, event: events.Resize) -> None:
        self.body.show([BLANK, *wrapped(self._text, self.inner, self._look), BLANK])
