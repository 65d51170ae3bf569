"""Reads a screen as text."""

from typing import Any

from textual.app import App


def rows(app: App[Any]) -> list[str]:
    return [strip.text for strip in app.screen._compositor.render_strips()]


def screen(app: App[Any]) -> str:
    return "\n".join(rows(app))
