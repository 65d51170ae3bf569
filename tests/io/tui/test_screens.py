"""Whole screens in words: what each one says at a glance, in the states that no picture is kept of."""

from collections.abc import Callable, Iterator

import pytest
from textual.binding import Binding

from tests.support.tui import agents, case_logs, gpu, logs, many_hosts
from tests.support.tui.drawn import rows
from tests.support.tui.feed import CannedFeed, app_on, settled
from tests.support.tui.views import plain, view_of
from tui import themes
from tui.screens.reader import WITHIN, help_lines
from tui.widgets.lines import Lines

SMALL, LARGE, WIDE, WIDEST = (80, 24), (120, 36), (140, 40), (240, 70)


Look = tuple[tuple[int, int], tuple[str, ...], tuple[str, ...]]
"""A size of the terminal, the keys that are pressed then, and what the screen says after them."""


@pytest.mark.parametrize(
    ("log", "looks"),
    [
        (logs.running, [(LARGE, (), ("r1.6  … running", "Lately", "3 of 8 left", " 6/10"))]),
        (
            logs.some,
            [
                (LARGE, ("down",), ("r1.4  ▲ 14.2 % less time  accepted", "bottleneck:")),
                (LARGE, ("2",), ("2[Metrics]", "roofline")),
                (SMALL, ("3",), ("2 rules fired", "far_below_bandwidth")),
            ],
        ),
        (logs.paused, [(LARGE, ("5",), ("try -O3 with and without -ffast-math",))]),
        (logs.incorrect, [(SMALL, (), ("r1.6  ✗ incorrect", "y[0] is nan, should be 0"))]),
        (logs.held, [(SMALL, (), ("held: the daemon crashed", "r releases it", "‖ held"))]),
        (logs.ended, [(LARGE, ("left",), ("r1  ▲ improved", "ended  4 iterations", "accepted"))]),
        (many_hosts.troubled, [(SMALL, ("7", "T"), ("Trust the key of gpu3?", many_hosts.FINGERPRINT))]),
        (
            many_hosts.sixteen,
            [
                (SMALL, ("7", "down"), ("▾ ● gpu5", "8 × NVIDIA H100")),
                (SMALL, ("up",) * 3, ("○ gpu2  down", "no route to")),
                (LARGE, ("up",) * 3, ("16 hosts  ● 14 up  ○ 2 down",)),
            ],
        ),
        (
            many_hosts.waiting,
            [
                (SMALL, (), ("r1.2  ◔ waiting", "it goes on by itself")),
                (LARGE, (), ("Other runs", "◔ r2 transpose_cpu")),
            ],
        ),
        (many_hosts.two, [(LARGE, ("down",), ("… 2 running", "r2.0", "2 … check"))]),
        (agents.mailbox, [(SMALL, (), ("waits  for reply.md", "copies its path:"))]),
        (
            gpu.transposed,
            [
                (SMALL, (), ("Speed-up  5.10× [5.05, 5.21]", "87 %")),
                (WIDE, (), ("96 % on the device, 3.7 % launching", "6.47×")),
                (WIDEST, (), ("Moved most", "smem_bank_conflicts", "Lately")),
                (WIDE, ("3", "right", "end"), ("NVIDIA",)),
            ],
        ),
        (case_logs.by_case, [(SMALL, ("2", "left"), ("Best of each case", "2.71×  r1.3"))]),
        (gpu.without_counters, [(SMALL, (), ("! no counters", "NVreg_Restrict"))]),
        (agents.claude, [(WIDEST, ("left",), ("$0.0700 of $2.50", "claude-sonnet-5-5"))]),
        (many_hosts.eight, [(WIDEST, ("7",), ("413/700", "Queue", "set NVreg_Restrict"))]),
    ],
    ids=lambda value: value.__qualname__ if callable(value) else "",
)
async def test_a_screen_says(log: Callable[[], logs.Log], looks: list[Look]) -> None:
    app = app_on(CannedFeed(log()))
    async with app.run_test(size=looks[0][0]) as pilot:
        for size, pressed, says in looks:
            if app.size != size:
                await pilot.resize_terminal(*size)
            await settled(pilot)
            for key in pressed:
                await pilot.press(key)
                await settled(pilot)
            lines = rows(app)
            assert all(len(line) <= size[0] for line in lines)
            text = "\n".join(lines)
            for part in says:
                assert part in text, f"{part!r} is not in\n{text}"


async def test_without_a_daemon_the_screen_says_what_to_do() -> None:
    app = app_on(None)
    async with app.run_test(size=SMALL) as pilot:
        await settled(pilot)
        text = "\n".join(rows(app))
    for part in ("○ no link", "kpd start", "no daemon runs for this workspace"):
        assert part in " ".join(text.split()), part


async def test_every_theme_shows_the_same_words() -> None:
    """Colour never stands alone: what is read is the same in all of them, and in none."""
    app = app_on(CannedFeed(logs.running()))
    shown = {}
    async with app.run_test(size=LARGE) as pilot:
        for theme in themes.THEMES:
            app.theme = theme.name
            await settled(pilot)
            shown[theme.name] = rows(app)
    assert [name for name, text in shown.items() if text != shown[themes.DARK.name]] == []
    assert len(shown) > 4


def test_the_help_has_every_key_that_a_pane_has_of_its_own() -> None:
    def below(kind: type[Lines]) -> Iterator[type[Lines]]:
        for one in kind.__subclasses__():
            yield one
            yield from below(one)

    own = {one for one in below(Lines) if one.__dict__.get("BINDINGS") and one.__module__.startswith("tui.widgets")}
    assert own == {widget for _, widget in WITHIN}
    text = plain(help_lines(view_of(logs.running()), 100))
    bindings = [one for _, widget in WITHIN for one in widget.BINDINGS]
    assert bindings
    assert all(isinstance(one, Binding) and one.description in text for one in bindings)
