"""Actions that only change what is shown: tabs, marks, filter and order of the tree, themes, help."""

from typing import TYPE_CHECKING

from tui import opening, themes
from tui.actions.table import key
from tui.model.alarms import alarm
from tui.model.outline import ORDERS, TreePosition
from tui.model.selected import compared_with
from tui.model.view import TABS, Against, Tab
from tui.screens.find import FindScreen
from tui.screens.palette import PaletteScreen
from tui.screens.reader import ReadingScreen, help_lines
from tui.widgets.pane import DiffPane

if TYPE_CHECKING:
    from tui.app import KpdApp

_BY: dict[str, str] = {"newest": "age, the newest first", "gain": "gain", "score": "score, the best first"}


def tab(app: "KpdApp", to: Tab) -> None:
    app.change(tab=to)


def next_tab(app: "KpdApp") -> None:
    app.change(tab=TABS[(TABS.index(app.view.tab) + 1) % len(TABS)])


def previous_tab(app: "KpdApp") -> None:
    app.change(tab=TABS[TABS.index(app.view.tab) - 1])


def follow(app: "KpdApp") -> None:
    app.change(following=True, followed="")


def mark(app: "KpdApp") -> None:
    """Mark the selected iteration, or remove the mark if it has it already."""
    view = app.view
    if view.mark == view.at:
        app.change(mark=None, against="parent" if view.against == "mark" else view.against)
        app.say(f"{view.ref} is no longer marked")
    else:
        app.change(mark=view.at)
        app.say(f"{view.ref} is marked: {key(view, 'compare')} compares another iteration with it")


def compare(app: "KpdApp") -> None:
    app.change(tab="diff", against="mark")


def against(app: "KpdApp") -> None:
    """Compare with the next side: parent, baseline, and the marked iteration if there is one."""
    view = app.view
    sides: list[Against] = ["parent", "baseline"] if view.mark is None else ["parent", "baseline", "mark"]
    app.change(against=sides[(sides.index(view.against) + 1) % len(sides)])
    other = compared_with(app.view)
    what = "its parent, the incumbent at the time" if app.view.against == "parent" else f"the {app.view.against}"
    app.say(f"compared with {what}" + (f", {other.ref}" if isinstance(other, TreePosition) else ""))


def split(app: "KpdApp") -> None:
    app.change(split=not app.view.split)


def next_hunk(app: "KpdApp") -> None:
    app.screen_stack[0].query_one(DiffPane).next_hunk()


def previous_hunk(app: "KpdApp") -> None:
    app.screen_stack[0].query_one(DiffPane).previous_hunk()


def find(app: "KpdApp") -> None:
    """Open a search if the keyboard is in the log, else the filter of the tree."""
    screen = FindScreen("filter", app.view.filter, lambda text: app.change(filter=text), app.view.filters)
    if app.view.tab == "log" and app.screen_stack[0].query_one("#right").has_focus_within:
        screen = FindScreen("search", app.view.find, lambda text: app.change(find=text))
    opening.show(app, screen)


def clear(app: "KpdApp") -> None:
    """Clear the search while the Log tab is open, else the filter; where that one is empty, clear the other.

    Without either, dismiss the warning on the screen.
    """
    if not app.view.filter and not app.view.find:
        app.change(dismissed=found.at if (found := alarm(app.view)) is not None else app.view.dismissed)
        return
    search = bool(app.view.find) and (app.view.tab == "log" or not app.view.filter)
    app.change(**({"find": ""} if search else {"filter": ""}))


def sort(app: "KpdApp") -> None:
    order = ORDERS[(ORDERS.index(app.view.order) + 1) % len(ORDERS)]
    app.change(order=order)
    app.say(f"iterations by {_BY[order]}")


def theme(app: "KpdApp") -> None:
    app.theme = themes.after(app.theme)
    app.say(f"theme {app.theme}; [tui] theme in config.toml keeps it")


def palette(app: "KpdApp") -> None:
    def chosen(id: str | None) -> None:
        if id is not None:
            app.action_act(id)

    opening.show(app, PaletteScreen(), chosen)


def help(app: "KpdApp") -> None:
    opening.show(app, ReadingScreen("Keys and signs", lambda width: help_lines(app.view, width)))
