"""What a vendor's profiler advises by itself, cut to what a person reads, with a ✓ where a local rule says the same."""

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content

from kpd.model.profiles import ESTIMATED, Advice
from tui.panes.parts import heading
from tui.words.numbers import percent
from tui.words.text import BLANK, Part, clean, line, wrapped

MOST = 12
LINES, NARROW_LINES = 3, 4
"""Of one piece: its first sentence says what is the matter, the rest is a textbook's."""
WIDE = 64
_STYLES = {"OPT": ".accent", "WRN": ".warn", "INF": ".muted"}


def advised(advice: Sequence[Advice], cases: Sequence[str], width: int) -> list[Content]:
    """All pieces below one heading, in the order they come in; `cases` are all of the task's."""
    aside = "✓ a rule above says the same" if any(piece.agrees for piece in advice) else "no rule says the same"
    found = [heading("NVIDIA's advice", (aside, ".muted")).truncate(width, ellipsis=True)]
    for piece in advice[:MOST]:
        found += [BLANK, *_block(piece, cases, width)]
    more = len(advice) - MOST
    return [*found, BLANK, line((f"{more} more: kpd show", ".muted"))] if more > 0 else found


def _block(piece: Advice, cases: Sequence[str], width: int) -> list[Content]:
    gain = f"  {ESTIMATED[piece.scope].format(percent(piece.speedup_pct))}" if piece.speedup_pct else ""
    tint = ".accent" if piece.scope == "global" else ".muted"
    parts: list[Part] = [
        ("  ", ""), (piece.level, _STYLES[piece.level]), "  ", (clean(piece.rule), ".strong"), (gain, tint),
    ]  # fmt: skip
    agrees = f"✓ {clean(piece.agrees)}" if piece.agrees else ""
    head = line(*parts)
    rows = [head.truncate(width, ellipsis=True)]
    if agrees and head.cell_length + cell_len(agrees) + 2 <= width:
        rows = [line(*parts, ("  " + agrees, ".good"))]
    elif agrees:
        rows.append(line("    ", (agrees, ".good")).truncate(width, ellipsis=True))
    rows += wrapped(piece.text, width, indent=4, most=LINES if width >= WIDE else NARROW_LINES)
    told = _cases(piece.cases, cases)
    return rows + (wrapped(told, width, ".muted", indent=4, most=2) if told else [])


def _cases(said_of: Sequence[str], cases: Sequence[str]) -> str:
    if not said_of or len(cases) < 2:
        return ""
    if set(said_of) >= set(cases):
        return f"in all {len(cases)} cases"
    return f"in {len(said_of)} of {len(cases)} cases: {', '.join(map(clean, said_of))}"
