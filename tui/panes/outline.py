"""Draws the rows of the left pane, tasks, runs and iterations, and the header of their columns."""

from rich.cells import cell_len
from textual.content import Content

from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.model.state import TaskCard
from kpd.model.status import Queued
from kpd.text.gains import cell, times
from tui.format import marks
from tui.format.numbers import figure
from tui.format.scores import unit, won
from tui.format.text import Part, clean, clip, fit, line
from tui.model.outline import OutlineRow, TreePosition
from tui.model.view import View
from tui.model.waits import waits

WHAT, WORD, SCORE, AGENT, AGE = 13, 12, 8, 10, 5
"""Cells of a row's columns: the gain, the word before it, the score, the agent, the age."""
MOST_AGENT = 22
"""Cells of the agent where there is room: `script:candidates` is whole."""
LONGEST_GAIN, THEN = 13, "then"
"""Cells of `1.034× ±0.004`; the word for a score of a contest of its own, which no other one must be compared with."""
LEAST_REASON = 12
"""Cells that a reason needs at least to be shown; the overview has all of it."""


def header(view: View, width: int) -> list[Content]:
    """Draw the heads of an iteration's columns, above the rows; none where there are no rows."""
    if not view.outline.rows:
        return []
    width -= 1  # the column of the scrollbar
    run = view.run
    digits = _digits(run) if run is not None else 2
    columns = [fit("age", AGE, right=True)]
    room = width - 2 - digits - 3 - AGE
    if agent := _agent_cells(room):
        columns.insert(0, "  " + fit("agent", agent - 2))
        room -= agent
    if room >= WHAT + SCORE:
        then = f"{unit(view.state, run)} {THEN}" if run is not None else THEN
        columns.insert(0, fit(then if cell_len(then) <= SCORE else THEN, SCORE, right=True))
        room -= SCORE
    what = "speed-up" if room < WORD + 1 + LONGEST_GAIN else f"{fit('outcome', WORD)} speed-up"
    return [line((f"  {'#':>{digits}}   {fit(what, room)}{''.join(columns)}", ".muted"))]


def row_line(view: View, row: OutlineRow, width: int) -> Content:
    """Draw one row in at most `width` cells: its name on the left, its result on the right."""
    match row.of:
        case TaskCard() as card:
            return _task(card, row, width)
        case Run() as run:
            return _run(view, run, row, width)
        case iteration:
            return _iteration(view, view.state.runs[row.place.run], iteration, width)


def _task(card: TaskCard, row: OutlineRow, width: int) -> Content:
    fold = "▾ " if row.open else "▸ "
    told, style = (" ✗ refused", ".bad") if card.error else (" ! unchecked", ".warn") if card.unchecked else ("", "")
    name = clip(clean(card.name), width - len(fold) - len(told))
    return line((fold, ".muted"), (name, ".strong"), (told, style))


def _run(view: View, run: Run, row: OutlineRow, width: int) -> Content:
    mark = marks.of_run(run, bool(view.state.held), view.out_of_touch)
    factor = won(run)
    left = f" {'▾' if row.open else '▸'} "
    room = max(0, width - len(left) - len(factor) - 1)
    word = f" {mark.glyph} {mark.word}"
    if run.at_phase is not None:
        word += f": {run.at_phase.name}"
    elif isinstance(run.status, Queued) and len(queue := view.state.queue) > 1:
        word += f" {queue.index(run) + 1} of {len(queue)}"
    if run.waiting and mark.word == marks.WAITING.word:
        found = line((left, ".muted"), run.id, (word, mark.style))
        reason = f"  {waits(run).text}" if width - found.cell_length >= LEAST_REASON else ""
        return (found + line((reason, ".muted"))).truncate(width, ellipsis=True)
    place = run.compared
    name = f"{run.id} {clean(run.agent) if place is None else f'{place.of} {place.side}'}"
    shown = name if cell_len(name) + len(word) <= room else run.id
    return line(
        (left, ".muted"), shown, (fit(word, room - cell_len(shown)), mark.style), " ", (factor, ".good")
    )  # fmt: skip


def _iteration(view: View, run: Run, it: Iteration, width: int) -> Content:
    """Draw an iteration: mark and gain, or its outcome; then score, agent and age as far as there is room."""
    mark = marks.of_iteration(it, run, bool(view.state.held), view.out_of_touch)
    sign = (" ", "")
    if run.incumbent == it.number:
        sign = ("★", ".good")
    elif view.mark == TreePosition(run.task, run.id, it.number):
        sign = ("◈", ".accent")
    left = f"{it.number:>{_digits(run)}} {mark.glyph} "
    columns: list[Part] = [(fit(_age(view, it), AGE, right=True), ".muted")]
    room = width - 2 - len(left) - AGE
    if agent := _agent_cells(room):
        columns.insert(0, ("  " + fit(clean(it.agent), agent - 2), ".muted"))
        room -= agent
    if room >= WHAT + SCORE:
        columns.insert(0, fit(figure(it.score) if it.score is not None else "", SCORE, right=True))
        room -= SCORE
    return line(" ", sign, (left + fit(_what(it, mark, room), room), mark.style), *columns)


def _agent_cells(room: int) -> int:
    """Return the cells of the agents' column: what gain and score leave, up to a long name; 0 where that is too little.

    From so many on that the word fits beside the gain, the word comes first.
    """
    spare = room - WHAT - SCORE
    if spare < AGENT:
        return 0
    with_word = room - WORD - 1 - LONGEST_GAIN - SCORE
    return max(AGENT, min(MOST_AGENT, with_word if with_word >= AGENT else spare))


def _digits(run: Run) -> int:
    return max(2, len(str(run.iterations[-1].number if run.iterations else 0)))


def _what(it: Iteration, mark: marks.Mark, room: int) -> str:
    """Return `1.034× ±0.004` for a judged iteration, with its word where there is room; else the word for its state."""
    word = mark.word
    if it.outcome is None and it.step is not None and mark not in (marks.REVIEW, marks.NO_LINK):
        word = it.step
    if it.verdict is None or it.outcome == "baseline" or it.measures_floor:
        return word
    text = cell(it.verdict.gain)
    for longer in (f"{fit(word, WORD)} {text}", text):
        if cell_len(longer) <= room:
            return longer
    return times(it.verdict.gain.speedup.ratio)


def _age(view: View, it: Iteration) -> str:
    """Format how long ago it ended, or else began: `now`, `5m`, `3h`, `12d`."""
    since = view.moment - (it.ended if it.ended is not None else it.started)
    for size, letter in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if since >= size:
            return f"{min(since // size, 999):.0f}{letter}"
    return "now"
