"""Why an iteration won or lost, in brief: what moved most, and the rules that fired. The tabs have it in full."""

from textual.content import Content

from kpd.model.detail import Detail
from tui.panes.parts import heading
from tui.words import marks
from tui.words.text import BLANK, clean, clip, first_line, line

MOST = 8


def why(detail: Detail, width: int, height: int) -> list[Content]:
    """As much of it as fits into `height` lines; nothing while nobody knows."""
    known = detail.explained
    if known is None:
        return []
    moved = [line(clip(first_line(text), width)) for text in known.changes]
    fired = []
    for finding in known.findings:
        mark = marks.of_severity(finding.severity)
        head = line((f"{mark.glyph} {mark.word:<7}", mark.style), (clean(finding.rule), ".strong"), "  ")
        fired.append(head + line((clip(clean(finding.message), width - head.cell_length), ".muted")))
    room = max(0, (height - 4) // 2)
    found: list[Content] = []
    for title, rows in (("Moved most", moved), ("Rules", fired)):
        if rows and room:
            found += [BLANK, heading(title), *rows[: min(MOST, room)]]
    return found
