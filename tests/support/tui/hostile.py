"""Hostile content, and a screen that is checked while it is read."""

import unicodedata

from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.iteration import Expectation
from kpd.model.kinds import Told
from kpd.model.notices import Said
from kpd.model.profiles import Advice, CaseTime, Finding, MetricChange
from kpd.model.verdicts import Gain, Verdict
from tests.support.tui import logs
from tui.app import KpdApp

MEGABYTES = "x" * 10_000_000
CONTROL = "\x1b[2J\x1b[31mred\x1b]0;title\x07\x1b]52;c;aGk=\x07\x9b31m\x00\x08\x7f\x0b\x0c\x85\u2028\u2029\ufeff end"
MARKUP = "[bold red]x[/] [@click=app.quit]quit[/] [link=http://a]b[/link] \\[ [/nothing] $primary [#fff on #000]"
EMOJI = "👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 👍🏽 日本語 ｆｕｌｌ e\u0301\u0302\u0303 \u200b\u200d \U000e0041"
RAW = frozenset({"Cc", "Cf", "Cs", "Mn", "Me", "Zl", "Zp"})
SIZE = (80, 24)


def screen(app: KpdApp) -> list[str]:
    """The rows, each checked: as wide as the terminal, and of characters that a terminal shows and does not obey."""
    strips = app.screen._compositor.render_strips()
    assert len(strips) == app.size.height
    assert {strip.cell_length for strip in strips} == {app.size.width}
    rows = [strip.text for strip in strips]
    raw = {char for row in rows for char in row if unicodedata.category(char) in RAW}
    assert not raw, [hex(ord(char)) for char in raw]
    return rows


def run_with(text: str) -> logs.Log:
    """A run in which everything that somebody else writes is `text`."""
    log, name, memo, text = logs.some(), text[:200], text, text[:100_000]
    finding = Finding(name, "high", text, text, {name: 1e300, "gbs": -1e-300, f"gbs[{name}]": 7.0})
    log.begin(6, parent=4, agent=name)
    verdict = Verdict("same", Gain(1e300, -1e300, 1e300), 5, False, "told", told=text)
    cases = (CaseTime(name, 1.5, 1e300, -1e300, 1.0, 1.0, 1e-300), CaseTime(name + "2", 1.0, 1.0, 0.0))
    wild = {name: 3.0, "gbs": 1e300, "gflops": 1e-300, f"gbs[{name}]": 1.0, f"gflops[{name}]": -5.0, "ipc": 0.0}
    advice = Advice(name, "OPT", text, 1e300, (name,), name)
    log.steps(
        "r1", 6,
        e.Proposed("r1", 6, 0.1, 0.1, {name: name}, memo, Expectation(name, "up", 1e300), {name: name}, (name,) * 3,
                   {name: (name,) * 3}),
        e.Screened("r1", 6, 0.1, 0.1, (name,) * 3), e.Staged("r1", 6, 0.1, 0.1, name),
        e.Built("r1", 6, 0.1, 0.1, name, False, text, 7), e.Checked("r1", 6, 0.1, 0.1, 1, 1e300, text),
        e.Timed("r1", 6, 0.1, 0.1, 1e300, 5, cases), e.Judged("r1", 6, 0.1, 0.1, verdict),
        e.Profiled("r1", 6, 0.1, 0.1, wild, {"clock_ghz": text, name: text}, (advice,) * 3),
        e.Explained("r1", 6, 0.1, 0.1, text, (finding,) * 3, (Told(text), MetricChange(name, 1.0, 1e300))),
    )  # fmt: skip
    log.emit(e.Faulted("r1", 6, "build", 2, Told(text), text)).emit(e.Unusable("r1", 6, text))
    log.emit(e.ReviewAsked("r1", 6)).emit(e.Declined("r1", 6, text, name)).emit(e.MemoGiven("r1", 6, memo, name))
    log.emit(e.RuleSet("r1", name, "banned", name)).emit(e.AgentChanged("r1", f"{name},sweep", name, name))
    log.emit(e.BudgetChanged("r1", Budget(10**12, 10**12, 1e300, 1e300, 8, 1e12), name))
    log.emit(e.AgainAsked("r1", 4, True, name)).emit(e.RolledBack("r1", 1, {name: name}, name, undo=True))
    log.emit(e.Steered("r1", 1, text, name)).emit(e.Steered("r1", 2, text, name))
    log.emit(e.SteeringConsumed("r1", (1,), 6)).emit(e.RunPaused("r1", Told(text), name))
    log.emit(e.Noticed("error", Said(text)))
    return log.end(6, "rejected", Told(text))
