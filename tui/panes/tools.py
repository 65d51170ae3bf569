"""Draws which tools agents called, how their trials ended, and what tools they have built."""

from collections.abc import Mapping, Sequence
from typing import Any

from textual.content import Content

from kpd.text.gains import signed
from kpd.text.numbers import counted
from kpd.text.tools import worse
from tui.format.numbers import seconds
from tui.format.table import Cell, Column, table
from tui.format.text import BLANK, clean, wrapped
from tui.panes.parts import heading

CALLS = (
    Column("tool", right=False), Column("run", right=False, keep=5), Column("server", right=False, keep=4),
    Column("calls"), Column("failed"), Column("median", keep=7), Column("longest", keep=3), Column("answers", keep=2),
)  # fmt: skip
TRIALS = (Column("iteration", right=False), Column("trials"), Column("on the device"), Column("how they ended", False))
BUILT = (
    Column("tool", right=False, least=18), Column("state", right=False), Column("calls"), Column("failed", keep=2),
    Column("had it", keep=7), Column("used it", keep=3), Column("with it", keep=6), Column("without", keep=5),
)  # fmt: skip
DIGITS = 4
"""Digits of a version in the table; kpd takes any number that tells it from others."""
READ = (Column("skill", right=False), Column("run", right=False), Column("read in"))
STATES = {"qualified": ".good", "quarantined": ".bad", "retired": ".muted"}
GAINS = (
    "had it, used it: sessions. with it, without: the median gain of the measured attempts on the same task. They were "
    "no experiment: kpd compare."
)
NOTHING = (
    "No agent has called a tool yet. Coding agents do, in their sessions: kpd's own, and those that they have built."
)


def tool_lines(called: Mapping[str, Any], built: Sequence[Mapping[str, Any]], width: int) -> list[Content]:
    """Draw the answers of the queries `tool_calls` and `toolbox`."""
    found: list[Content] = []
    if calls := called.get("calls"):
        found += [heading("Calls", (f"{sum(one['calls'] for one in calls):,} in all", ".muted"))]
        found += table(CALLS, [_call(one) for one in calls], width)
    else:
        found += wrapped(NOTHING, width, ".muted")
    if trials := called.get("trials"):
        found += [BLANK, heading("Trials", ("they decide nothing: kpd measures what lies in the tree", ".muted"))]
        found += table(TRIALS, [_trial(one) for one in trials], width)
    if read := called.get("skills_read"):
        found += [BLANK, heading("Skills read", ("as the agents told of the files that they opened", ".muted"))]
        found += table(READ, [_read(one) for one in read], width)
    if built:
        found += [BLANK, heading("Built by agents", ("sessions get them while they are qualified", ".muted"))]
        found += table(BUILT, [_tool(one) for one in built], width)
        found += wrapped(GAINS, width, ".muted")
        for one in built:
            if one["lost"]:
                found += wrapped(_withheld(one), width, ".warn")
            if one["effect"]["retire"]:
                found += wrapped(_worse(one), width, ".warn")
    return found


def _call(one: Mapping[str, Any]) -> list[Cell]:
    failed = (f"{one['failed']:,}", ".bad" if one["failed"] else ".muted")
    times = (seconds(one["median_ms"] / 1000), seconds(one["longest_ms"] / 1000))
    return [clean(one["tool"]), clean(one["run"]), clean(one["server"]), f"{one['calls']:,}", failed, *times,
            f"{one['answer_bytes'] / 1024:,.1f} KiB"]  # fmt: skip


def _trial(one: Mapping[str, Any]) -> list[Cell]:
    ends = ", ".join(f"{times:,} {clean(end).replace('_', ' ')}" for end, times in one["ends"].items())
    number = f"{sum(one['ends'].values()):,}"
    return [f"{clean(one['run'])}.{one['iteration']}", number, seconds(one["device_s"]), ends]


def _read(one: Mapping[str, Any]) -> list[Cell]:
    return [clean(one["skill"]), clean(one["run"]), counted(one["sessions"], "session")]


def _tool(one: Mapping[str, Any]) -> list[Cell]:
    failed = (f"{one['failed']:,}", ".bad" if one["failed"] else ".muted")
    state = (clean(one["state"]), STATES.get(one["state"], ".warn"))
    name, _, version = clean(one["shown"]).partition("@")
    return [
        f"{name}@{version[:DIGITS]}",
        state,
        f"{one['calls']:,}",
        failed,
        f"{one['sessions']:,}",
        f"{one['used']:,}",
        _gains(one["effect"]["having"]),
        _gains(one["effect"]["lacking"]),
    ]


def _gains(found: Mapping[str, Any]) -> str:
    """Format the attempts of one side: `3.1 % of 6`, or how many there were where none was measured."""
    median, measured = found["median_pct"], found["measured"]
    return counted(found["attempts"], "attempt") if median is None else f"{signed(median)} % of {measured:,}"


def _withheld(one: Mapping[str, Any]) -> str:
    lost = ", ".join(map(clean, one["lost"]))
    return f"⚑ {clean(one['shown'])} points at {lost}, which no session may get: kpd tools restore"


def _worse(one: Mapping[str, Any]) -> str:
    return f"⚑ {worse(clean(one['shown']), one['effect']['worse'])}"
