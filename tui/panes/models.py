"""Draws the costs of a run by purpose and model, in tokens and dollars."""

from rich.cells import cell_len
from textual.content import Content

from kpd.model.run import Run
from kpd.model.spending import Spend
from kpd.text.numbers import counted
from tui.format import money
from tui.format.numbers import compact
from tui.format.table import Cell, Column, table
from tui.format.text import BLANK, clean
from tui.model.answers import Cost
from tui.model.view import View
from tui.panes.parts import heading, sentence

_COUNTS = (
    Column("calls", keep=3), Column("input", keep=2), Column("to cache", keep=1), Column("from cache", keep=5),
    Column("output", keep=4), Column("cost"),
)  # fmt: skip
_NONE: tuple[Cell, ...] = ("",) * (1 + len(_COUNTS))
LONGEST = 20
"""Cells that the name of a model may take even if columns are left out; a longer one is wrapped."""
LONGEST_PURPOSE = "compile fix"
"""The longest purpose, which is not to fold."""


def models(view: View, run: Run, width: int) -> list[Content]:
    """Draw the run's total cost, and its parts once the daemon has sent them."""
    known = view.shown.cost if isinstance(view.shown.cost, Cost) else Cost({}, {})
    several = len(known.models) > 1
    rows = [_row(name.replace("_", " "), spend) for name, spend in known.purposes.items()]
    rows += [_NONE, *(_row(name, spend) for name, spend in known.models.items()), _NONE] if several else []
    longest = (
        max(cell_len(clean(name)) for name in (*known.models, LONGEST_PURPOSE))
        if several
        else cell_len(LONGEST_PURPOSE)
    )
    names = Column("purpose", right=False, least=min(LONGEST, longest))
    only = [] if several else [(clean(name), ".muted") for name in known.models]
    found = [heading("Models", *only), *table((names, *_COUNTS), [*rows, _row("in all", run.spend)], width)]
    if known.cut:
        lost = f"~: {counted(known.cut, 'call')} broke off; the service may bill more than is counted."
        found += [BLANK, *sentence(lost, width)]
    if known.unseen:
        calls = counted(known.unseen, "call")
        found += [BLANK, *sentence(f"~: {calls} that nobody saw end; each counts with the most it could cost.", width)]
    if run.spend.unpriced:
        calls = counted(run.spend.unpriced, "call")
        found += [
            BLANK,
            *sentence(f"?: {calls} without a known price; [claude.prices] in config.toml gives it.", width),
        ]
    return found


def _row(name: str, spend: Spend) -> tuple[Cell, ...]:
    usage = spend.usage
    counts = (spend.calls, usage.input, usage.cache_write, usage.cache_read, usage.output)
    return (clean(name), *map(compact, counts), money.cost(spend))
