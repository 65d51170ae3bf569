"""Draws the Diff tab: changes against the parent, the baseline or the marked iteration, unified or side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content

from kpd.text.numbers import counted
from tui.actions.table import key
from tui.format.lazy_rows import LazyRows
from tui.format.numbers import MINUS
from tui.format.text import BLANK, Part, clean, line, wrapped
from tui.model.answers import Diff, Problem
from tui.model.selected import nothing_to_compare
from tui.model.view import View
from tui.panes.cases import cases
from tui.panes.hunks import laid_out
from tui.panes.memo import chapter
from tui.panes.parts import heading, nothing_selected, problem, sentence
from tui.panes.patch import Patch, parsed

SPLIT_LEAST = 100
"""Cells that two files beside each other need at least."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """The lines, and the lines where hunks begin."""

    lines: Sequence[Content]
    hunks: tuple[int, ...] = ()


def lines(view: View, width: int, height: int) -> Sequence[Content]:
    return drawn(view, width, height).lines


def drawn(view: View, width: int, height: int) -> Drawn:
    """Draw the diff; below one that leaves room for it stands what the change was for, and what was measured."""
    if (nothing := nothing_selected(view, width)) is not None:
        return Drawn(nothing)
    if (why := nothing_to_compare(view)) != "":
        return Drawn(sentence(why, width))
    diff = view.shown.diff
    if isinstance(diff, Problem):
        return Drawn(problem(diff, width))
    if diff is None:
        return Drawn(sentence("Asking the daemon for the diff.", width))
    if not diff.text.strip():
        return Drawn([*_head(view, diff, parsed(""), width), BLANK, *sentence(_no_difference(view), width)])
    split = view.split and width >= SPLIT_LEAST
    head = _head(view, diff, parsed(diff.text), width)
    sheet = laid_out(diff.text, width, split)
    body, above = sheet.rows, len(head)
    below, until = _outcome(view, width, height - above - len(sheet.rows)), above + len(body)
    rows = LazyRows(
        until + len(below), lambda y: head[y] if y < above else body[y - above] if y < until else below[y - until]
    )
    return Drawn(rows, tuple(above + begin for begin in sheet.hunks))


def _outcome(view: View, width: int, room: int) -> list[Content]:
    """Draw the iteration's chapter of the story, and its cases once timed, each if it fits into `room` lines."""
    run, it, found = view.run, view.iteration, list[Content]()
    if run is None or it is None:
        return found
    story = [heading("Memo"), *chapter(view, run, it, (), width)]
    timed = cases(it, view.shown.detail, width) if view.shown.detail.timed is not None else []
    for part in (story, timed):
        if part and len(found) + len(part) + 2 <= room:
            found += [BLANK, *part]
    return found


def foot(view: View, drawn: Drawn, hunk: int) -> Content | None:
    """Return the number of the hunk that the operator is at, and the keys to go on; None where there is only one."""
    if len(drawn.hunks) < 2:
        return None
    keys = f"{key(view, 'next_hunk')} next  {key(view, 'previous_hunk')} previous"
    return line((f"hunk {hunk + 1:,} of {len(drawn.hunks):,}", ".strong"), ("   " + keys, ".muted"))


def _head(view: View, diff: Diff, patch: Patch, width: int) -> list[Content]:
    """Draw what is compared, how much differs, and the keys for other comparisons."""
    sides = f"{clean(diff.before)} → {clean(diff.after)}" if diff.before else clean(diff.after)
    parts: list[Part] = [(sides, ".strong")]
    if patch.hunks:
        where = f"  {counted(len(patch.files), 'file')}, {counted(len(patch.hunks), 'hunk')}"
        parts += ["  ", (f"+{patch.added:,}", ".added"), " ", (f"{MINUS}{patch.removed:,}", ".removed")]
        parts.append((where, ".muted"))
    first = line(*parts)
    told = wrapped(f"against {_side(view)} · {_else(view, width)}", width, ".muted")
    return [first.truncate(width, ellipsis=True), *told]


def _side(view: View) -> str:
    return {"parent": "its parent", "baseline": "the baseline", "mark": "the marked one"}[view.against]


def _else(view: View, width: int) -> str:
    other = f"{key(view, 'against')} another"
    if view.split and width < SPLIT_LEAST:
        return f"{other} · side by side takes {SPLIT_LEAST} columns, here are {width} · {key(view, 'zoom')} zooms"
    return f"{other} · {key(view, 'split')} {'in one column' if view.split else 'side by side'}"


def _no_difference(view: View) -> str:
    if view.against == "parent":
        return "This candidate changes nothing in the text of its files."
    return "The files of the two are the same to the letter."
