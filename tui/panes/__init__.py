"""Draws panes as pure functions: a view, a width and a height in, lines out."""
