"""Keys of the operator's own: which of them acts can have, what is said of the others, and where they are shown."""

import tomllib
from typing import Any

import pytest
from textual.binding import Binding

from tests.places import ROOT
from tests.support.tui import logs
from tests.support.tui.feed import CannedFeed, app_on, settled
from tests.support.tui.opened_log import open_log
from tests.support.tui.pressing import press
from tests.support.tui.views import plain, view_of
from tui.actions.keymap import MOVES, STEPS, keymap
from tui.actions.table import ACTIONS, key
from tui.screens.reader import WITHIN, help_lines
from tui.widgets.lines import Lines


def refused(**wanted: str) -> str:
    """What is said of keys of which none can be had."""
    keys, told = keymap(wanted)
    assert keys == {}
    assert told.startswith("config.toml, [tui.keys]: ")
    return told.removeprefix("config.toml, [tui.keys]: ")


def test_no_two_acts_share_a_usual_key_and_each_has_a_name_that_is_known() -> None:
    usual = {action.id: action.keys for action in ACTIONS}
    assert keymap(usual) == (usual, "")


def test_what_panes_do_themselves_is_known() -> None:
    scrolled = [one for kind in Lines.__mro__ for one in kind.__dict__.get("BINDINGS", ())]
    own = [*scrolled, *(one for _, widget in WITHIN for one in widget.BINDINGS)]
    keys = {key for one in own if isinstance(one, Binding) and one.id is None for key in one.key.split(",")}
    assert keys == MOVES | STEPS


@pytest.mark.parametrize(
    ("wanted", "acts", "shared"),
    [
        ({"pause": "space"}, "pause and play", "space"),
        ({"stop": "x"}, "skip and stop", "x"),
        ({"detach": "p"}, "pause and detach", "p"),
        ({"pause": "f8", "stop": "f8"}, "pause and stop", "f8"),
        ({"sort": "?"}, "sort and help", "?"),
        ({"sort": "f8, shift+tab"}, "focus_left and sort", "⇧tab"),
    ],
)
def test_a_key_of_another_act_is_refused_and_both_keep_their_usual_ones(
    wanted: dict[str, str], acts: str, shared: str
) -> None:
    told = f"{acts} would share '{shared}', so they keep their usual keys; give one of them another"
    assert refused(**wanted) == told


@pytest.mark.parametrize(
    ("key", "sent"),
    [("ctrl+i", "tab"), ("ctrl+m", "enter"), ("ctrl+j", "enter"), ("ctrl+h", "backspace"), ("ctrl+[", "escape"),
     ("ctrl+space", "ctrl+@")],
)  # fmt: skip
def test_a_key_that_no_terminal_tells_apart_is_refused(key: str, sent: str) -> None:
    assert refused(pause=key) == f"pause cannot have '{key}': most terminals send {sent} for it; give it another"


def test_a_key_that_comes_free_only_by_what_is_refused_is_refused_too() -> None:
    told = refused(pause="r", resume="p", stop="p")
    assert told.startswith("resume and stop would share 'p'")
    assert told.endswith("(and 1 more)")


def test_keys_can_be_swapped_and_what_is_right_is_kept_beside_what_is_not() -> None:
    assert keymap({"pause": "r", "resume": "p"}) == ({"pause": "r", "resume": "p"}, "")
    assert keymap({"find": "f", "follow": "/,end"}) == ({"find": "f", "follow": "slash,end"}, "")
    keys, told = keymap({"pause": "f8", "stop": "x"})
    assert keys == {"pause": "f8"}
    assert "skip and stop" in told


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Q", "Q"), (" f8 ", "f8"), ("!", "exclamation_mark"), ("backslash", "backslash"), ("§", "section_sign"),
        ("ö", "ö"), ("ctrl+g", "ctrl+g"), ("ctrl++", "ctrl+plus"), ("shift+f5", "shift+f5"), ("f7,f8", "f7,f8"),
        ("shift+ctrl+left", "ctrl+shift+left"), ("alt+x", "alt+x"),
    ],
)  # fmt: skip
def test_a_key_is_what_textual_calls_it(text: str, name: str) -> None:
    assert keymap({"sort": text}) == ({"sort": name}, "")


def test_a_comma_is_a_key_where_it_stands_alone() -> None:
    assert keymap({"previous_hunk": ".", "next_hunk": ","})[0] == {"previous_hunk": "full_stop", "next_hunk": "comma"}


@pytest.mark.parametrize(
    "text",
    ["spcae", "", "ctrl+", "ctrl+P", "shift+p", "cntrl+p", "ctrl+ctrl+p", "return", "f8,,f9", "f99", "\x1b", "[b]x"],
)
def test_what_is_no_key_is_told(text: str) -> None:
    assert refused(pause=text).startswith("no key is called ")


def test_a_misspelt_key_has_its_remedy() -> None:
    assert refused(pause="spcae") == "no key is called 'spcae'; did you mean 'space'?"
    assert refused(pause="ctrl+P").endswith("; write a character, or a name such as 'space', 'f5' or 'ctrl+g'")


def test_what_moves_within_a_pane_is_for_no_act_that_has_it_not_already() -> None:
    assert refused(stop="down") == "stop cannot have '↓', which moves within a pane; give it another"
    assert "'n', which moves within a pane" in keymap({"follow": "n", "run": "f8"})[1]
    assert keymap({"follow": "end", "skill": "enter"}) == ({"follow": "end", "skill": "enter"}, "")


def test_the_keys_shown_as_an_example_can_be_had() -> None:
    shipped = (ROOT / "config.toml.example").read_text().partition("[tui.keys]\n")[2]
    helped = plain(help_lines(view_of(logs.running()), 80)).partition("[tui.keys]\n")[2]
    for example in (shipped.partition("\n\n")[0].replace("# ", ""), helped):
        wanted: dict[str, Any] = tomllib.loads(example)
        assert wanted
        assert keymap(wanted) == (wanted, "")


async def test_a_refused_key_is_told_at_the_start_and_does_what_it_did() -> None:
    app, _ = await press(logs.running(), keys={"stop": "p"})
    assert app.view.said is not None
    assert "pause and stop would share 'p'" in app.view.said.text
    assert not app.view.said.good
    assert (key(app.view, "pause"), key(app.view, "stop")) == ("p", "S")
    _, feed = await press(logs.running(), "p", "S", "y", keys={"stop": "p"})
    assert feed.commands == [("pause", {"run": "r1"}), ("stop", {"run": "r1"})]


async def test_swapped_keys_take_each_the_others_act() -> None:
    _, feed = await press(logs.running(), "S", "p", "y", keys={"stop": "p", "pause": "S"})
    assert feed.commands == [("pause", {"run": "r1"}), ("stop", {"run": "r1"})]


async def test_another_key_to_follow_is_the_logs_too() -> None:
    feed = CannedFeed(logs.running())
    app = app_on(feed, keys={"follow": "f8"})
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await open_log(pilot, feed, 200)
        await pilot.press("pageup")
        await settled(pilot)
        assert pane.foot is not None
        assert "below  f8 follows" in pane.foot.plain
        assert any(line.plain.split() == ["f8", "follow", "the", "end"] for line in help_lines(app.view, 80))
        await pilot.press("f")
        await settled(pilot)
        assert pane.foot is not None, "f is no key any more"
        await pilot.press("f8")
        await settled(pilot)
        assert pane.foot is None, "it follows again"


def test_keys_are_shown_as_people_write_them() -> None:
    keys, _ = keymap({"stop": "ctrl+/", "sort": "!", "pause": "delete"})
    view = view_of(logs.running(), keys=keys)
    assert [key(view, id) for id in ("stop", "sort", "pause")] == ["^/", "!", "del"]
