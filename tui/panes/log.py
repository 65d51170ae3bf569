"""Draws the Log tab: the steps of an iteration with their times, and live output between them."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from textual.content import Content

from kpd.model.events import Event
from kpd.model.fact import StepFact
from kpd.model.facts.iterations import StepStarted
from kpd.model.facts.steps import STEP_OF
from kpd.model.notices import Notice
from kpd.text import notices
from kpd.text.numbers import counted
from tui.actions.table import key
from tui.format import marks
from tui.format.lazy_rows import LazyRows
from tui.format.numbers import clock
from tui.format.story import sentence as told
from tui.format.text import BLANK, clean, clip, line, wrapped
from tui.model.answers import Problem, Show
from tui.model.kept_output import with_kept
from tui.model.output import OutputLine
from tui.model.view import View
from tui.panes import output_rows
from tui.panes.iterations import around
from tui.panes.parts import heading, nothing_heard, nothing_selected, problem, sentence

ROWS = 1 << 12
"""More rows than a printed line is ever folded to."""

MOST_KEPT = 2_000
"""Events whose rows are kept: the log is put together anew with every line that comes."""

Timed = tuple[int, float, tuple[Content, ...]]
"""An event's number, its time, and how it reads."""


class LogRows:
    """The lines of the log for one view and width; only those in sight are drawn.

    `keys` identifies lines when others come and go: those of output grow in the order in which it came, others are
    negative, or 0 where no key is needed. `matches` are the lines that match the search. Where less than `height` lines
    are needed, the other iterations of the run have a line each above and below.
    """

    def __init__(self, view: View, width: int, height: int = 0) -> None:
        self.keys: list[int] = []
        self.matches: list[int] = []
        self._entries: list[Content | tuple[OutputLine, int]] = []
        self._width, self._height = width, height
        self._wanted = _pattern(view.find)
        self._made_of = _made_of(view)
        self._fill(view)
        above, below = around(view, width, height - len(self._entries) - 1)  # a search has a foot
        if above:  # it is short: collected again, it begins below them
            self.keys, self.matches, self._entries = [], [], []
            self._say(above)
            self._fill(view)
        self._say(below)

    def holds(self, view: View, width: int, height: int) -> bool:
        """Return whether these rows still show this view: most keys change nothing about the log."""
        old, new = self._made_of, _made_of(view)
        same = all(one is other or one == other for one, other in zip(old, new, strict=True))
        return same and (width, height) == (self._width, self._height)

    def rows(self, here: int | None = None) -> LazyRows:
        """Return the lines to show, with the match in line `here` highlighted."""
        return LazyRows(len(self._entries), lambda y: self._drawn(y, y == here))

    def _drawn(self, y: int, here: bool) -> Content:
        entry, style = self._entries[y], ".match-here" if here else ".match"
        gutter = output_rows.gutter(self._width)
        if isinstance(entry, Content):
            spans = self._wanted.finditer(entry.plain) if self._wanted is not None else ()
            for span in spans:
                entry = entry.stylize(style, *span.span())
            return entry
        one, row = entry
        content = output_rows.drawn(one, row, self._width)
        for nth, begin, end in (
            output_rows.stretches(one, self._wanted, self._width) if self._wanted is not None else ()
        ):
            if nth == row:
                content = content.stylize(style, gutter + begin, gutter + end)
        return content

    # ── what there is to show ─────────────────────────────────────────────────────────────────────────────────────

    def _fill(self, view: View) -> None:
        width = self._width
        if (nothing := nothing_heard(view, width)) is not None:
            self._say(nothing)
        elif view.iteration is None:
            self._of_the_daemon(view)
        else:
            self._of_the_iteration(view)

    def _of_the_iteration(self, view: View) -> None:
        it, events = view.iteration, view.shown.events
        assert it is not None
        if isinstance(events, Problem):
            self._say(problem(events, self._width))
        journal = events if isinstance(events, tuple) else ()
        output = [
            one for one in view.output if one.run == "" or (one.run == view.at.run and one.iteration == it.number)
        ]
        heard = {one.channel for one in output if one.run}
        if it.outcome is not None or it.session is not None:
            output = with_kept(view, journal, output)
        pairs = zip(journal, (*journal[1:], None), strict=False)
        shown = [
            self._timed(view, one.seq, one.at, *told(one.fact)) for one, after in pairs if not _goes_on(one, after)
        ]
        self._merge(view, shown, _noticed(view, it.started, it.ended or float("inf")), output)
        if not journal and not output:
            waiting = "The journal of this iteration appears here, with the output of its build and its jobs."
            self._say(sentence(waiting, self._width))
        elif not heard and it.outcome is not None:
            self._say([BLANK, *sentence(_where(view), self._width)])

    def _of_the_daemon(self, view: View) -> None:
        """Collect the lines to show without an iteration.

        These are notices, the daemon's log, what was done to the run, also in production, and its output.
        """
        run = view.run
        self._say([*(nothing_selected(view, self._width) or ()), BLANK])
        self._say(
            [heading("What the daemon noticed and logs", (f"and what was done to {run.id}" if run else "", ".muted"))]
        )
        acts = view.shown.acts if isinstance(view.shown.acts, tuple) else ()
        output = [one for one in view.output if one.run in ("", run.id)] if run is not None else []
        shown = [self._timed(view, event.seq, event.at, *told(event.fact)) for event in acts]
        noticed = _noticed(view)
        self._merge(view, shown, noticed, output)
        if not shown and not output and not noticed:
            nothing = "Nothing so far. What the daemon logs appears here, with warnings and errors."
            self._say(sentence(nothing, self._width))
        if view.state.workspace:
            where = f"All of the daemon's log is in {view.state.workspace}/.kpd/daemon.log, if kpd start began it."
            self._say([BLANK, *sentence(where, self._width)])

    def _merge(
        self, view: View, shown: Sequence[Timed], notices: Sequence[Notice], output: Sequence[OutputLine]
    ) -> None:
        """Merge events and notices by time; printed lines go after the last event that had happened when they came."""
        said = printed_so_far = 0
        for seq, at, told_in in shown:
            first = printed_so_far
            while printed_so_far < len(output) and output[printed_so_far].after < seq:
                printed_so_far += 1
            self._print(output[first:printed_so_far])
            while said < len(notices) and notices[said].at < at:
                self._notice(view, notices[said])
                said += 1
            self._say(told_in, -seq)
        for notice in notices[said:]:
            self._notice(view, notice)
        self._print(output[printed_so_far:])

    def _notice(self, view: View, notice: Notice) -> None:
        below_events = -int(1000 * notice.at)
        self._say(
            self._timed(view, 0, notice.at, marks.of_notice(notice.level), notices.notice(notice))[2], below_events
        )

    def _timed(self, view: View, seq: int, at: float, mark: marks.Mark, text: str) -> Timed:
        return seq, at, _rows(clock(at, view.zone), mark, text, self._width)

    def _say(self, lines: Iterable[Content], known: int = 0) -> None:
        for one in lines:
            if self._wanted is not None and self._wanted.search(one.plain):
                self.matches.append(len(self._entries))
            self._entries.append(one)
            self.keys.append(known)

    def _print(self, output: Sequence[OutputLine]) -> None:
        entries, keys, width, wanted = self._entries, self.keys, self._width, self._wanted
        for one in output:
            if wanted is not None:
                self.matches += [len(entries) + row for row in output_rows.found(one, wanted, width)]
            for row in range(output_rows.height(one, width)):
                entries.append((one, row))
                keys.append(one.number and one.number * ROWS + row)


def lines(view: View, width: int, height: int) -> Sequence[Content]:
    return LogRows(view, width, height).rows()


def foot(view: View, matches: Sequence[int], at: int | None, below: int) -> Content | None:
    """Return the number of matches, and of lines below the window if it is not at the end; None without either."""
    parts: list[Content] = []
    if view.find:
        found = counted(len(matches), "line")
        which = f"{matches.index(at) + 1:,} of {found}" if at in matches else found if matches else "no line has it"
        keys = "  n next  N previous" if matches else ""
        end = f"  {key(view, 'clear')} ends"
        parts.append(line(("/", ".key"), (clip(clean(view.find), 20), ".strong"), f"  {which}", (keys + end, ".muted")))
    if below > 0:
        parts.append(
            line(("‖ ", ".warn"), f"{counted(below, 'line')} below", (f"  {key(view, 'follow')} follows", ".muted"))
        )
    return Content("   ").join(parts) if parts else None


@lru_cache(maxsize=MOST_KEPT)
def _rows(time: str, mark: marks.Mark, text: str, width: int) -> tuple[Content, ...]:
    """Draw a sentence with its time and mark, wrapped over as many rows as it needs."""
    head = line((f"{time}  ", ".muted"), (f"{mark.glyph} ", mark.style))
    rows = wrapped(text, width - head.cell_length)
    return tuple((head if nth == 0 else line(" " * head.cell_length)) + one for nth, one in enumerate(rows))


def _goes_on(event: Event, after: Event | None) -> bool:
    """Return whether this event is a step's beginning whose end comes next: one line for a step is enough."""
    if not isinstance(event.fact, StepStarted) or after is None:
        return False
    step, following = event.fact.step, after.fact
    return step == "record" or (isinstance(following, StepFact) and STEP_OF[type(following)] == step)


def _noticed(view: View, since: float = 0.0, until: float = float("inf")) -> list[Notice]:
    """Return the daemon's notices and the lines of its own log, by time."""
    diary = view.shown.diary if isinstance(view.shown.diary, tuple) else ()
    both = (one for one in (*view.state.notices, *diary) if since <= one.at <= until)
    return sorted(both, key=lambda one: one.at)


def _made_of(view: View) -> tuple[object, ...]:
    """Return all parts of a view that the log shows."""
    return (
        view.output, view.shown.events, view.shown.acts, view.shown.diary, view.shown.texts, view.shown.show,
        view.state.notices, view.at, view.run, view.state.seq == 0, view.link.state, view.find,
        view.zone,
    )  # fmt: skip


def _where(view: View) -> str:
    it, loaded = view.iteration, isinstance(view.shown.show, Show)
    if loaded and it is not None and it.outcome is not None and view.shown.detail.proposed is None:
        return "It ended before it had a candidate: nothing of it was built or run."
    show = view.shown.show
    folder = show.folder if isinstance(show, Show) and show.folder else "its run folder"
    files = "build.log, check.json, timing.json"
    reply = "reply.md, " if view.iteration is not None and view.iteration.spend.calls else ""
    return f"What jobs print is heard while this screen is open. All that is kept is in {folder}: {reply}{files}."


@lru_cache(maxsize=4)
def _pattern(find: str) -> re.Pattern[str] | None:
    """Compile the search text into a pattern that ignores case."""
    return re.compile(re.escape(clean(find)), re.IGNORECASE) if clean(find) else None
