"""Diff: what the iteration changed, as a unified diff; + and − stand beside the colours."""

from textual.content import Content

from tui.details import Problem
from tui.numbers import MINUS, count
from tui.panes.parts import heading, nothing_selected, problem, sentence
from tui.text import BLANK, clean, line, lines_of
from tui.view import View

MOST_LINES = 20_000


def lines(view: View, width: int, height: int) -> list[Content]:
    if (nothing := nothing_selected(view, width)) is not None:
        return nothing
    diff, it = view.shown.diff, view.iteration
    assert it is not None
    if isinstance(diff, Problem):
        return problem(diff, width)
    if diff is None:
        return sentence("Asking the daemon for the diff.", width)
    if not diff.text.strip():
        return sentence(_no_diff(view), width)
    text = lines_of(diff.text, MOST_LINES)
    added = sum(one.startswith("+") and not one.startswith("+++ ") for one in text)
    removed = sum(one.startswith("-") and not one.startswith("--- ") for one in text)
    sides = f"{clean(diff.before)} → {clean(diff.after)}" if diff.before else clean(diff.after)
    found = [
        heading(sides, (f"+{added:,}", ".added"), " ", (f"{MINUS}{removed:,}", ".removed"), "  ", ("lines", ".muted"))
    ]
    found += [BLANK, *(_styled(one) for one in text)]
    if diff.text.count("\n") > MOST_LINES:
        found.append(line((f"the rest is left out: more than {count(MOST_LINES, 'line')}", ".warn")))
    return found


def _styled(text: str) -> Content:
    if text.startswith(("+++ ", "--- ")):
        return line((text, ".strong"))
    if text.startswith("@@"):
        return line((text, ".accent"))
    if text.startswith("+"):
        return line((text, ".added"))
    if text.startswith("-"):
        return line((text, ".removed"))
    return line((text, ".muted")) if text.startswith("\\") else line(text)


def _no_diff(view: View) -> str:
    it = view.iteration
    assert it is not None
    if it.number == it.parent:
        return "The baseline is the task as it came: there is nothing to compare it with."
    if it.outcome is None and not it.memo:
        return "The diff against the incumbent appears when the propose step is done."
    return "This candidate changes nothing in the text of its files."
