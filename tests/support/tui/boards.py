"""A board of several runs."""

from tui.app import KpdApp


def board(app: KpdApp) -> list[str]:
    """The screen as lines of text, as a terminal would show it."""
    width, height = app.size
    lines = app.screen._compositor.render_strips()
    assert len(lines) == height
    assert all(strip.cell_length == width for strip in lines)
    return [strip.text for strip in lines]
