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


@pytest.mark.parametrize(
    ("log", "size", "pressed", "says"),
    [
        pytest.param(logs.running, LARGE, (), ("r1.6  … running", "Lately", "3 of 8 left", " 5/10"), id="running"),
        pytest.param(logs.some, LARGE, ("down",), ("r1.4  ▲ 14.2 % less time  accepted", "bottleneck:"), id="accepted"),
        pytest.param(logs.some, LARGE, ("2", "down"), ("2[Metrics]", "roofline"), id="accepted_metrics"),
        pytest.param(logs.some, SMALL, ("3", "down"), ("2 rules fired", "far_below_bandwidth"), id="accepted_rules"),
        pytest.param(logs.paused, LARGE, ("5",), ("try -O3 with and without -ffast-math",), id="memo_and_queue"),
        pytest.param(logs.incorrect, SMALL, (), ("r1.6  ✗ incorrect", "y[0] is nan, should be 0"), id="incorrect"),
        pytest.param(logs.held, SMALL, (), ("held: the daemon crashed", "r releases it", "‖ held"), id="held"),
        pytest.param(logs.ended, LARGE, ("left",), ("r1  ▲ improved", "ended  4 iterations", "accepted"), id="ended"),
        pytest.param(
            many_hosts.troubled, SMALL, ("7", "T"), ("Trust the key of gpu3?", many_hosts.FINGERPRINT), id="trust"
        ),
        pytest.param(many_hosts.sixteen, SMALL, ("7", "down"), ("▾ ● gpu5", "8 × NVIDIA H100"), id="sixteen_small"),
        pytest.param(
            many_hosts.sixteen, LARGE, ("7", *["up"] * 3), ("16 hosts  ● 14 up  ○ 2 down",), id="sixteen_large"
        ),
        pytest.param(many_hosts.sixteen, SMALL, ("7", "up", "up"), ("○ gpu2  down", "no route to"), id="one_down"),
        pytest.param(many_hosts.waiting, SMALL, (), ("r1.2  ◔ waiting", "it goes on by itself"), id="waiting_small"),
        pytest.param(many_hosts.waiting, LARGE, (), ("Other runs", "◔ r2 transpose_cpu"), id="waiting_large"),
        pytest.param(many_hosts.two, LARGE, ("down",), ("… 2 running", "r2.0", "2 … check"), id="two_running"),
        pytest.param(agents.mailbox, SMALL, (), ("waits  for reply.md", "copies its path:"), id="mailbox"),
        pytest.param(gpu.transposed, SMALL, (), ("Speed-up  5.10× [5.05, 5.21]", "87 %"), id="gpu_overview_small"),
        pytest.param(case_logs.by_case, SMALL, ("2", "left"), ("Best of each case", "2.71×  r1.3"), id="best_cases"),
        pytest.param(gpu.transposed, WIDE, (), ("96 % on the device, 3.7 % launching", "6.47×"), id="gpu_overview"),
        pytest.param(gpu.transposed, WIDEST, (), ("Moved most", "smem_bank_conflicts", "Lately"), id="gpu_widest"),
        pytest.param(gpu.transposed, WIDE, ("3", "right", "end"), ("NVIDIA",), id="gpu_advice"),
        pytest.param(gpu.without_counters, SMALL, (), ("! no counters", "NVreg_Restrict"), id="gpu_no_counters"),
        pytest.param(agents.claude, WIDEST, ("left",), ("$0.0700 of $2.50", "claude-sonnet-5-5"), id="run_widest"),
        pytest.param(many_hosts.eight, WIDEST, ("7",), ("413/700", "Queue", "set NVreg_Restrict"), id="hosts_widest"),
    ],
)
async def test_a_screen_says(
    log: Callable[[], logs.Log], size: tuple[int, int], pressed: tuple[str, ...], says: tuple[str, ...]
) -> None:
    app = app_on(CannedFeed(log()))
    async with app.run_test(size=size) as pilot:
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


@pytest.mark.parametrize("theme", [theme.name for theme in themes.THEMES])
async def test_every_theme_shows_the_same_words(theme: str) -> None:
    """Colour never stands alone: what is read is the same in all of them, and in none."""
    shown = []
    for name in (themes.DARK.name, theme):
        app = app_on(CannedFeed(logs.running()), theme=name)
        async with app.run_test(size=LARGE) as pilot:
            await settled(pilot)
            shown.append(rows(app))
    assert shown[0] == shown[1]


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
