"""Three looks: a calm dark one, a light one, and one in the Okabe–Ito colours that colour-blind eyes can tell apart."""

from textual.theme import Theme

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
        "kpd-muted": "#7d8894",
        "kpd-off": "#555f6a",
        "kpd-cursor": "#2c4258",
        "kpd-alert-text": "#14181d",
        "input-cursor-text-style": "none",
    },
)

LIGHT = Theme(
    name="kpd-light",
    primary="#2f6690",
    secondary="#5b6b7a",
    accent="#1f6f8b",
    success="#3d7a2c",
    warning="#96630a",
    error="#b3373f",
    foreground="#22292f",
    background="#f7f6f2",
    surface="#efeee8",
    panel="#e2e0d8",
    dark=False,
    variables={
        "kpd-muted": "#66717c",
        "kpd-off": "#a3abb3",
        "kpd-cursor": "#c9dcea",
        "kpd-alert-text": "#ffffff",
        "input-cursor-text-style": "none",
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
        "kpd-muted": "#8a939c",
        "kpd-off": "#5d666f",
        "kpd-cursor": "#1f4a66",
        "kpd-alert-text": "#121417",
        "input-cursor-text-style": "none",
    },
)

THEMES = (DARK, LIGHT, OKABE_ITO)


def after(name: str) -> str:
    """The name of the theme that follows `name` in the round of kpd's own."""
    names = [theme.name for theme in THEMES]
    return names[(names.index(name) + 1) % len(names)] if name in names else names[0]
