"""Lays out a patch as rows, unified or side by side; rows are drawn when they come into sight."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from textual.content import Content, Span

from kpd.text.numbers import counted
from tui.format.lazy_rows import LazyRows
from tui.format.text import BLANK, Part, clip, line
from tui.panes import syntax
from tui.panes.folding import Row, folded
from tui.panes.patch import ALIKE, Hunk, Line, Pair, alike, common, parsed

PIECE = 60
"""Lines of a hunk that get their colours together."""
ROOMY = 64
"""From this width on both sides' line numbers are shown."""
_STYLES = {"+": (".added", ".plus"), "-": (".removed", ".minus"), " ": (".off", ""), "\\": (".off", "")}
_SHOWN = {"+": "+", "-": "−", " ": " ", "\\": " "}


@dataclass(frozen=True, slots=True)
class PatchRows:
    """The rows of a patch, and the rows where its hunks begin."""

    rows: LazyRows
    hunks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    note: str


@dataclass(frozen=True, slots=True)
class _Rule:
    """The row that begins hunk number `hunk`."""

    hunk: int


@dataclass(frozen=True, slots=True)
class _Code:
    """The `nth` row of a pair of lines in a hunk; in a unified diff one side is None, or both are the same line."""

    hunk: int
    pair: Pair
    nth: int


_Entry = Content | _File | _Rule | _Code


@lru_cache(maxsize=4)
def laid_out(text: str, width: int, split: bool) -> PatchRows:
    """Lay out the diff `text` in `width` cells."""
    return _Layout(text, width, split).sheet()


class _Layout:
    def __init__(self, text: str, width: int, split: bool) -> None:
        self._patch = parsed(text)
        self._width = width
        self._split = split
        self._looks = [_Looks(hunk) for hunk in self._patch.hunks]
        largest = max((max(one.old or 0, one.new or 0) for hunk in self._patch.hunks for one in hunk.lines), default=0)
        self._digits = max(2, len(str(largest)))
        both = not split and width >= ROOMY
        self._gutter = (self._digits + 1) * (2 if both else 1) + 2
        self._half = (width - 1) // 2 if split else width
        self._room = max(8, self._half - self._gutter)
        self._both = both

    def sheet(self) -> PatchRows:
        entries: list[_Entry] = []
        begins: list[int] = []
        file = ""
        for nth, hunk in enumerate(self._patch.hunks):
            if hunk.file != file:
                entries += [BLANK, _File(hunk.file, hunk.note)]
                file = hunk.file
            begins.append(len(entries))
            entries.append(_Rule(nth))
            for pair in hunk.pairs() if self._split else _one_by_one(hunk):
                entries += [_Code(nth, pair, row) for row in range(self._height(hunk, pair))]
        entries += [BLANK] if entries and self._patch.remarks else []
        entries += [line((clip(remark, self._width), ".muted")) for remark in self._patch.remarks]
        if self._patch.left_out:
            left = counted(self._patch.left_out, "more line")
            entries += [BLANK, line((clip(f"{left} of this diff are left out here.", self._width), ".warn"))]
        return PatchRows(LazyRows(len(entries), lambda y: self._drawn(entries[y])), tuple(begins))

    def _height(self, hunk: Hunk, pair: Pair) -> int:
        return max(len(self._rows(hunk.lines[nth])) for nth in set(pair) if nth is not None)

    def _rows(self, one: Line) -> tuple[Row, ...]:
        return folded(one.text, self._room)

    def _drawn(self, entry: _Entry) -> Content:
        match entry:
            case Content():
                return entry
            case _File(name, note):
                said = f"  {note}" if note else ""
                title = clip(name or "a file without a name", max(8, self._width - len(said)))
                return line((title, ".strong"), (said, ".added" if note == "new" else ".removed"))
            case _Rule(nth):
                return self._rule(self._patch.hunks[nth])
        hunk, looks = self._patch.hunks[entry.hunk], self._looks[entry.hunk]
        before, after = entry.pair
        if not self._split:
            shown = after if after is not None else before
            assert shown is not None
            return self._half_row(hunk, looks, shown, entry.nth)
        left = self._half_row(hunk, looks, before, entry.nth, old=True)
        return Content.assemble(left, ("│", ".off"), self._half_row(hunk, looks, after, entry.nth))

    def _rule(self, hunk: Hunk) -> Content:
        title = clip(f"line {hunk.begins:,}" + (f"  {hunk.section}" if hunk.section else ""), self._width - 4)
        rest = max(0, self._width - len(title) - 4)
        return Content.assemble(("── ", ".off"), (title, ".accent"), " ").append(Content.styled("─" * rest, ".off"))

    def _half_row(self, hunk: Hunk, looks: "_Looks", nth: int | None, row: int, old: bool = False) -> Content:
        """Draw one row of one line of one side, filled to the side's width; blank where that side has no such line."""
        if nth is None:
            return Content(" " * self._half)
        one = hunk.lines[nth]
        rows = self._rows(one)
        if row >= len(rows):
            return self._filled(Content(""), one)
        begin, end, inset = rows[row]
        sign, _ = _STYLES[one.sign]
        head: list[Part] = [(self._numbers(one, old) if row == 0 else " " * (self._gutter - 2), ".off")]
        head.append((_SHOWN[one.sign] + " " if row == 0 or one.sign != "\\" else "  ", sign))
        code = looks.line(nth, old)[begin:end]
        body = line(*head) + Content(" " * inset) + code
        if one.cut and row == len(rows) - 1:
            body = body + line((f" … {counted(one.cut, 'more character')}", ".warn"))
            body = body.truncate(self._half, ellipsis=True)
        return self._filled(body, one)

    def _numbers(self, one: Line, old: bool) -> str:
        def number(value: int | None) -> str:
            return f"{value if value is not None else '':>{self._digits}} "

        if self._both:
            return number(one.old) + number(one.new)
        return number(one.old if old or one.new is None else one.new)

    def _filled(self, body: Content, one: Line) -> Content:
        """Fill the row with the background of its kind of line, to the edge of its side."""
        filled = body + Content(" " * max(0, self._half - body.cell_length))
        tint = _STYLES[one.sign][1]
        return Content(filled.plain, [Span(0, len(filled.plain), tint), *filled.spans]) if tint else filled


class _Looks:
    """The lines of a hunk with their colours, which are computed in pieces."""

    def __init__(self, hunk: Hunk) -> None:
        self._hunk = hunk
        self._pieces: dict[tuple[int, bool], dict[int, tuple[syntax.Span, ...]]] = {}
        self._partners: dict[int, int] | None = None

    def line(self, nth: int, old: bool) -> Content:
        one = self._hunk.lines[nth]
        if one.sign == "\\":
            return line((one.text, ".off"))
        old = old or one.sign == "-"
        spans = [Span(*span) for span in self._spans(nth, old)]
        if (part := self._part(nth)) is not None:
            spans.insert(0, Span(*part, ".plus-part" if one.sign == "+" else ".minus-part"))
        return Content(one.text, spans)

    def _spans(self, nth: int, old: bool) -> tuple[syntax.Span, ...]:
        piece = (nth // PIECE, old)
        if piece not in self._pieces:
            first = nth // PIECE * PIECE
            other = "+" if old else "-"
            numbered = enumerate(self._hunk.lines[first : first + PIECE], first)
            own = [(at, one.text) for at, one in numbered if one.sign not in (other, "\\")]
            found = syntax.spans(self._hunk.file, [text for _, text in own])
            self._pieces[piece] = {at: spans for (at, _), spans in zip(own, found, strict=True)}
        return self._pieces[piece].get(nth, ())

    def _part(self, nth: int) -> tuple[int, int] | None:
        """Return the start and end of what differs from the line that replaced this one, or that it replaced."""
        if self._partners is None:
            pairs = [(one, other) for one, other in self._hunk.pairs() if one is not None and other is not None]
            self._partners = {a: b for one, other in pairs if one != other for a, b in ((one, other), (other, one))}
        other = self._partners.get(nth)
        return None if other is None else differing(self._hunk.lines[nth].text, self._hunk.lines[other].text)


def differing(text: str, other: str) -> tuple[int, int] | None:
    """Return the start and end of the part of `text` that is not in `other`; None if they have little in common."""
    if alike(text, other) < ALIKE:
        return None
    head, tail = common(text, other)
    return (head, len(text) - tail) if head < len(text) - tail else None


def _one_by_one(hunk: Hunk) -> Iterator[Pair]:
    for nth, one in enumerate(hunk.lines):
        yield (nth, None) if one.sign == "-" else (None, nth)
