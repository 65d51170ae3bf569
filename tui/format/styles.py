"""Defines the styles that lines name as `.name`, in the colours of the theme.

They are not classes of the style sheet: Textual would match each of them again for every widget whenever the keyboard
moves from one to another. That took a third of the time between such a key and its paint.
"""

from collections.abc import Mapping

from textual.app import App
from textual.style import Style

STYLES: Mapping[str, str] = {
    "strong": "bold",
    "heading": "bold $primary",
    "muted": "$kpd-muted",
    "accent": "$accent",
    "good": "$success",
    "bad": "$error",
    "warn": "$warning",
    "added": "$success",
    "removed": "$error",
    "key": "bold $primary",
    "key-here": "bold reverse $primary",
    "off": "$kpd-off",
    "alert": "$kpd-alert-text on $warning $kpd-alert-style",
    "foot": "on $surface",
    "cursor": "on $panel",
    "cursor-here": "bold on $kpd-cursor",
    # Program text: quiet colours, and a tint behind added and removed lines; without it + and − say the same.
    "plus": "on $success 12%",
    "minus": "on $error 12%",
    "plus-part": "on $success 22%",
    "minus-part": "on $error 22%",
    "code-keyword": "$primary",
    "code-type": "$accent",
    "code-string": "$success",
    "code-number": "$warning",
    "code-comment": "italic $kpd-muted",
    "code-name": "bold",
    "code-macro": "$secondary",
    "match": "on $warning 30%",
    "match-here": "$kpd-alert-text on $warning $kpd-alert-style",
}
"""`-here` is for where the keyboard is."""

STYLES_16_COLOURS: Mapping[str, str] = {
    **STYLES,
    "off": "dim $kpd-off",
    "cursor": "underline ansi_default",
    "cursor-here": "bold reverse ansi_default",
    "plus": "",
    "minus": "",
    "plus-part": "underline",
    "minus-part": "underline",
    "match": "reverse",
}
"""Sixteen colours have no tints: a selection is reversed, a part of a line underlined."""


def style_of(app: App[object], name: str) -> Style:
    """Return the style of a name in the current theme. Raises KeyError if there is no such name."""
    looks = STYLES_16_COLOURS if app.current_theme.ansi else STYLES
    return app.stylesheet.parse_style(looks[name])
