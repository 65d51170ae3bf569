"""Defines the themes: dark, light, colours of Okabe and Ito for colour-blind people, sixteen colours, and no colour.

Marks and words say everything that a colour says.
"""

from collections.abc import Mapping

from textual.theme import Theme

STYLES = {
    "input-cursor-text-style": "none",
    "kpd-bar-style": "none",
    "kpd-alert-style": "bold",
}

DARK = Theme(
    name="kpd-dark",
    primary="#7aa2c8",
    secondary="#8fa1b3",
    accent="#7fb4ca",
    success="#8fb573",
    warning="#d9a860",
    error="#d9777f",
    foreground="#c9d1d9",
    background="#14181d",
    surface="#191e24",
    panel="#222932",
    variables={
        **STYLES,
        "kpd-muted": "#7d8894",
        "kpd-off": "#555f6a",
        "kpd-cursor": "#2c4258",
        "kpd-alert-text": "#14181d",
    },
)

LIGHT = Theme(
    name="kpd-light",
    primary="#2f6690",
    secondary="#5b6b7a",
    accent="#1f6f8b",
    success="#376f27",
    warning="#8a5a08",
    error="#b3373f",
    foreground="#22292f",
    background="#f7f6f2",
    surface="#efeee8",
    panel="#e2e0d8",
    dark=False,
    variables={
        **STYLES,
        "kpd-muted": "#5f6a75",
        "kpd-off": "#98a1aa",
        "kpd-cursor": "#c9dcea",
        "kpd-alert-text": "#ffffff",
    },
)

# The palette of M. Okabe and K. Ito: blue and vermilion stay apart where green and red do not.
OKABE_ITO = Theme(
    name="kpd-okabe-ito",
    primary="#56b4e9",
    secondary="#999999",
    accent="#f0e442",
    success="#56b4e9",
    warning="#e69f00",
    error="#e0703a",
    foreground="#d8dee4",
    background="#121417",
    surface="#181b1f",
    panel="#22272d",
    variables={
        **STYLES,
        "kpd-muted": "#8a939c",
        "kpd-off": "#5d666f",
        "kpd-cursor": "#1f4a66",
        "kpd-alert-text": "#121417",
    },
)

DEFAULT = "ansi_default"
_MARKED = {
    "ansi-background": DEFAULT,
    "ansi-foreground": DEFAULT,
    "border": DEFAULT,
    "input-cursor-background": DEFAULT,
    "input-cursor-foreground": DEFAULT,
    "input-cursor-text-style": "reverse",
    "input-selection-background": DEFAULT,
    "input-selection-foreground": DEFAULT,
    "screen-selection-background": DEFAULT,
    "screen-selection-foreground": DEFAULT,
    "kpd-cursor": DEFAULT,
    "kpd-alert-style": "bold",
}
"""Without tints everything has the terminal's own background; `looks` marks it by other means."""

ANSI = Theme(
    name="kpd-ansi",
    primary="ansi_blue",
    secondary="ansi_cyan",
    accent="ansi_cyan",
    success="ansi_green",
    warning="ansi_yellow",
    error="ansi_red",
    foreground=DEFAULT,
    background=DEFAULT,
    surface=DEFAULT,
    panel=DEFAULT,
    boost=DEFAULT,
    ansi=True,
    variables={
        **_MARKED,
        "kpd-bar-style": "underline",
        "kpd-muted": "ansi_bright_black",
        "kpd-off": "ansi_bright_black",
        "kpd-alert-text": "ansi_black",
    },
)

PLAIN = Theme(
    name="kpd-plain",
    primary=DEFAULT,
    secondary=DEFAULT,
    accent=DEFAULT,
    success=DEFAULT,
    warning=DEFAULT,
    error=DEFAULT,
    foreground=DEFAULT,
    background=DEFAULT,
    surface=DEFAULT,
    panel=DEFAULT,
    boost=DEFAULT,
    ansi=True,
    variables={
        **_MARKED,
        "kpd-bar-style": "reverse",
        "kpd-alert-style": "bold reverse",
        "kpd-muted": DEFAULT,
        "kpd-off": DEFAULT,
        "kpd-alert-text": DEFAULT,
    },
)

THEMES = (DARK, LIGHT, OKABE_ITO, ANSI, PLAIN)
IN_TURN = (DARK, LIGHT, OKABE_ITO, ANSI)


def no_colour(environment: Mapping[str, str]) -> bool:
    """Return whether the operator wants no colours: NO_COLOR is set, even if it is empty (https://no-color.org)."""
    return "NO_COLOR" in environment


def fitting(wanted: str, colourless: bool, colours: str | None) -> str:
    """Return the name of the theme to begin with: `wanted` if given, else one that fits the terminal.

    `colours` is Rich's name of what the terminal can show. Without colours, or where they are not wanted, it is always
    the plain theme.
    """
    if colourless or colours is None:
        return PLAIN.name
    return wanted or (ANSI.name if colours in ("standard", "windows") else DARK.name)


def after(name: str) -> str:
    """Return the name of kpd's own theme after `name`, in turn; the theme without colours is kept."""
    if name == PLAIN.name:
        return name
    names = [theme.name for theme in IN_TURN]
    return names[(names.index(name) + 1) % len(names)] if name in names else names[0]
