"""The screens as pictures. `make snapshots` draws them anew after a wanted change; look at them before committing."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from tests import tui_agents as agents, tui_fleet as fleet, tui_gpu as gpu, tui_logs as logs
from tests.tui_feed import CannedFeed, app_on, settled

SMALL, LARGE, WIDE = (80, 24), (120, 36), (140, 40)
Compare = Callable[..., bool]


def keys(*pressed: str) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Wait for the screen, press, wait again: a picture never shows something half done."""

    async def before(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        for key in pressed:
            await pilot.press(key)
            await settled(pilot)

    return before


@pytest.mark.parametrize(
    ("log", "size", "pressed", "theme"),
    [
        pytest.param(logs.empty, SMALL, (), "", id="empty"),
        pytest.param(logs.running, SMALL, (), "", id="running_small"),
        pytest.param(logs.running, LARGE, (), "", id="running_large"),
        pytest.param(logs.some, LARGE, ("down",), "", id="accepted_overview"),
        pytest.param(logs.some, LARGE, ("2", "down"), "", id="accepted_metrics"),
        pytest.param(logs.some, SMALL, ("3", "down"), "", id="accepted_rules"),
        pytest.param(logs.some, LARGE, ("4", "down"), "kpd-light", id="accepted_diff"),
        pytest.param(logs.paused, LARGE, ("5",), "", id="paused_memo_and_steering_queue"),
        pytest.param(logs.incorrect, SMALL, (), "", id="incorrect"),
        pytest.param(logs.held, SMALL, (), "", id="held_after_a_crash"),
        pytest.param(logs.ended, LARGE, ("left",), "", id="ended"),
        pytest.param(logs.running, SMALL, ("question_mark",), "", id="help"),
        pytest.param(logs.running, SMALL, ("S",), "", id="stop_is_confirmed"),
        pytest.param(logs.edited, SMALL, ("6",), "kpd-okabe-ito", id="log_for_colour_blind_eyes"),
        pytest.param(fleet.healthy, SMALL, ("7",), "", id="hosts_healthy_small"),
        pytest.param(fleet.healthy, LARGE, ("7",), "", id="hosts_healthy_large"),
        pytest.param(fleet.troubled, SMALL, ("7",), "kpd-okabe-ito", id="hosts_troubled_small_okabe_ito"),
        pytest.param(fleet.troubled, LARGE, ("7",), "", id="hosts_troubled_large"),
        pytest.param(fleet.troubled, SMALL, ("7", "T"), "", id="hosts_trust_is_confirmed"),
        pytest.param(fleet.sixteen, SMALL, ("7", "down"), "", id="hosts_sixteen_small"),
        pytest.param(
            fleet.sixteen, LARGE, ("7", "up", "up", "up"), "kpd-okabe-ito", id="hosts_sixteen_large_okabe_ito"
        ),
        pytest.param(fleet.sixteen, SMALL, ("7", "up", "up"), "", id="hosts_one_down_small"),
        pytest.param(fleet.waiting, SMALL, (), "", id="waiting_small"),
        pytest.param(fleet.waiting, LARGE, (), "kpd-okabe-ito", id="waiting_large_okabe_ito"),
        pytest.param(fleet.two, SMALL, (), "kpd-okabe-ito", id="two_running_small_okabe_ito"),
        pytest.param(fleet.two, LARGE, ("down",), "", id="two_running_large"),
        pytest.param(agents.mailbox, SMALL, (), "", id="mailbox_small"),
        pytest.param(agents.claude, LARGE, ("5", "down", "down"), "kpd-light", id="claude_memo_large_light"),
        pytest.param(gpu.transposed, SMALL, (), "", id="gpu_overview_small"),
        pytest.param(gpu.transposed, WIDE, (), "", id="gpu_overview_wide"),
        pytest.param(gpu.transposed, SMALL, ("2",), "", id="gpu_metrics_small"),
        pytest.param(gpu.transposed, WIDE, ("2",), "", id="gpu_metrics_wide"),
        pytest.param(gpu.transposed, SMALL, ("2", "right", "pagedown", "pagedown"), "", id="gpu_stalls_small"),
        pytest.param(gpu.transposed, WIDE, ("2", "right", "pagedown"), "kpd-okabe-ito", id="gpu_stalls_okabe_ito"),
        pytest.param(gpu.transposed, WIDE, ("2", "down"), "kpd-light", id="gpu_baseline_metrics_wide"),
        pytest.param(gpu.transposed, SMALL, ("3",), "", id="gpu_rules_small"),
        pytest.param(gpu.transposed, WIDE, ("3", "right", "end"), "", id="gpu_advice_wide"),
        pytest.param(gpu.recorded, SMALL, (), "", id="gpu_recorded_small"),
        pytest.param(gpu.without_counters, SMALL, (), "", id="gpu_without_counters_small"),
        pytest.param(gpu.without_counters, WIDE, ("2",), "", id="gpu_without_counters_metrics_wide"),
    ],
)
def test_screen(
    snap_compare: Compare,
    log: Callable[[], logs.Log],
    size: tuple[int, int],
    pressed: tuple[str, ...],
    theme: str,
) -> None:
    app = app_on(CannedFeed(log()), theme=theme)
    assert snap_compare(app, terminal_size=size, run_before=keys(*pressed))


def test_without_a_daemon(snap_compare: Compare) -> None:
    assert snap_compare(app_on(None), terminal_size=SMALL, run_before=keys())
