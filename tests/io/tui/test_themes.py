"""Looks: themes by terminal and by config, no colour at all, and what stays readable without any."""

import io
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from textual.color import Color

from tests.places import ROOT
from tests.support.tui import logs
from tests.support.tui.feed import CannedFeed, app_on, settled
from tui import themes
from tui.widgets.lines import Lines

NOT_DEFAULT = re.compile(r"\x1b\[(?:[0-9;]*;)?(3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[0-9;]*)?m")
"""A colour that is set, be it of the sixteen or of more; 39 and 49 are the terminal's own."""
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from tests.support.tui import logs
from tests.support.tui.feed import CannedFeed
from datetime import UTC
from kpd.workspace.config import TuiConfig
from tui.app import KpdApp
async def connect():
    return CannedFeed(logs.paused())
KpdApp(connect, "kernels", TuiConfig(theme=sys.argv[2]), zone=UTC).run()
"""


@pytest.mark.parametrize(
    ("wanted", "colourless", "colours", "name"),
    [
        ("", False, "truecolor", "kpd-dark"),
        ("", False, "256", "kpd-dark"),
        ("", False, "standard", "kpd-ansi"),
        ("", False, None, "kpd-plain"),
        ("kpd-light", False, "standard", "kpd-light"),
        ("kpd-light", True, "truecolor", "kpd-plain"),
        ("nord", False, "truecolor", "nord"),
    ],
)
def test_the_theme_fits_the_terminal_unless_the_config_names_one(
    wanted: str, colourless: bool, colours: str | None, name: str
) -> None:
    assert themes.fitting(wanted, colourless, colours) == name


def test_the_round_of_themes_comes_back_and_leaves_no_colour_alone() -> None:
    name, seen = themes.DARK.name, []
    for _ in themes.IN_TURN:
        seen.append(name)
        name = themes.after(name)
    assert (name, len(set(seen))) == (themes.DARK.name, len(themes.IN_TURN))
    assert themes.after("nord") == themes.DARK.name
    assert themes.after(themes.PLAIN.name) == themes.PLAIN.name


@pytest.mark.parametrize("theme", themes.THEMES, ids=lambda theme: theme.name)
def test_every_theme_gives_every_value_that_the_style_sheet_asks_for(theme: Any) -> None:
    sheet = (Path(themes.__file__).parent / "kpd.tcss").read_text()
    asked = set(re.findall(r"\$(kpd-[a-z-]+)", sheet))
    assert asked <= theme.variables.keys()


@pytest.mark.parametrize("theme", (themes.DARK, themes.LIGHT, themes.OKABE_ITO), ids=lambda theme: theme.name)
def test_text_stands_out_from_what_is_behind_it(theme: Any) -> None:
    """Contrast by WCAG: 4.5 for what is to be read, 2 for what is out of use."""
    behind = [theme.background, theme.surface]
    for text, least in (
        (theme.foreground, 7.0), (theme.primary, 4.5), (theme.accent, 4.5), (theme.success, 4.5),
        (theme.warning, 4.5), (theme.error, 4.5), (theme.variables["kpd-muted"], 4.5),
        (theme.variables["kpd-off"], 2.0),
    ):  # fmt: skip
        for background in behind:
            assert contrast(text, background) >= least, (text, background)
    assert contrast(theme.foreground, theme.variables["kpd-cursor"]) >= 4.5
    assert contrast(theme.variables["kpd-alert-text"], theme.warning) >= 4.5


def contrast(one: str, other: str) -> float:
    low, high = sorted(_light(Color.parse(one)) for one in (one, other))
    return (high + 0.05) / (low + 0.05)


def _light(colour: Color) -> float:
    parts = [part / 255 for part in colour.rgb]
    red, green, blue = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


async def test_a_theme_that_nobody_knows_is_said_and_the_usual_one_worn() -> None:
    app = app_on(CannedFeed(logs.running()), theme="solarised")
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert app.theme == themes.DARK.name
    assert app.view.said is not None
    assert "no theme is called 'solarised'" in app.view.said.text
    assert "kpd-okabe-ito" in app.view.said.text


@pytest.mark.parametrize("theme", (themes.ANSI.name, themes.PLAIN.name))
async def test_the_chosen_row_is_reversed_where_there_are_no_tints(theme: str) -> None:
    app = app_on(CannedFeed(logs.running()), theme=theme)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        tree = app.query_one("#tree", Lines)
        assert tree.cursor is not None
        chosen = list(tree.render_line(tree.cursor))
        assert all(segment.style is not None and segment.style.reverse for segment in chosen)
        other = list(tree.render_line(tree.cursor + 1))
        assert not any(segment.style is not None and segment.style.reverse for segment in other)


def painted(theme: str, **environment: str) -> str:
    """What the UI writes to a terminal until it is still, in a process of its own; it is detached then."""
    ours, theirs = pty.openpty()
    clean = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLORTERM", "TERM")}
    command = [sys.executable, "-c", PROGRAM, str(ROOT), theme]
    env = {**clean, "COLUMNS": "80", "LINES": "24", **environment}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True)
    os.close(theirs)
    found, said = io.BytesIO(), time.monotonic()
    try:
        while time.monotonic() < said + 60:
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    data = os.read(ours, 1 << 16)
                except OSError:  # its end on Linux
                    break
                found.write(data)
                if not data:
                    break
            if b"detach" in found.getvalue() and b"paused" in found.getvalue():
                os.write(ours, b"q")
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return found.getvalue().decode(errors="replace")


def test_no_color_means_none_whatever_the_terminal_can_and_the_config_says() -> None:
    text = painted("kpd-light", NO_COLOR="1", TERM="xterm-256color", COLORTERM="truecolor")
    assert "paused by op" in text
    assert NOT_DEFAULT.search(text) is None, NOT_DEFAULT.search(text)


@pytest.mark.parametrize("term", ("xterm", "linux"))
def test_a_terminal_of_sixteen_colours_gets_no_others(term: str) -> None:
    text = painted("", TERM=term)
    assert "paused by op" in text
    found = {match[1] for match in NOT_DEFAULT.finditer(text)}
    assert found
    assert not found & {"38", "48"}


def test_a_terminal_of_all_colours_gets_the_dark_theme() -> None:
    text = painted("", TERM="xterm-256color", COLORTERM="truecolor")
    red, green, blue = Color.parse(themes.DARK.background).rgb
    assert f"48;2;{red};{green};{blue}" in text
