"""What devices do, in the Hosts tab: figures with their age, who computes, who holds the lease, and who waits."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot

from kpd.model import events as e
from kpd.model.codec import encode
from kpd.model.hosts import GpuProcess, HostStatus, Telemetry
from kpd.model.notices import Said
from kpd.subscription import DaemonError
from tests.support.tui import logs, many_hosts
from tests.support.tui.feed import CannedFeed, app_on, settled
from tests.support.tui.views import plain, view_of
from tui.app import KpdApp
from tui.model import hosts
from tui.model.device_status import DeviceStatusPoller
from tui.model.view import View
from tui.panes import devices, hosts as pane
from tui.widgets.hosts import HostsPane

LATER = logs.BEGIN + 600


def seeing(*seen: Telemetry, gpus: int = 1, **more: Any) -> View:
    """One host, whose devices were seen so; nobody has them."""
    card = many_hosts.telling(many_hosts.gpu_host(gpus=gpus), *seen)
    return replace(view_of(many_hosts.begin().hosts(card), tab="hosts", host="gpu1"), **more)


def told(view: View, width: int = 80) -> str:
    return plain(devices.lines(view, view.state.hosts["gpu1"], width))


# ── one GPU ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("width", [47, 80, 140])
def test_a_gpu_says_all_that_it_does_at_any_width(width: int) -> None:
    text = told(seeing(many_hosts.IDLE, many_hosts.BUSY), width)
    for part in ("1,980 MHz", "memory 2,619 MHz", "413 of 700 W", "58 °C", "1.8 of 80 GiB", "97 % busy",
                 "lease: op@kernels, r1.1.1-time", "timed (4211), 1,826 MiB: kpd's own"):  # fmt: skip
        assert part in " ".join(text.split()), part


def test_what_the_driver_does_not_say_is_left_out_and_spoils_nothing() -> None:
    some = Telemetry(0.0, sm_mhz=1980, power_w=100.0, memory_used_mib=512)
    text = told(seeing(Telemetry(0.0), some))
    assert "1,980 MHz · 100 W · 0.5 of 80 GiB" in text
    for absent in ("None", "°C", "busy", "lease"):
        assert absent not in text
    nothing = told(seeing(Telemetry(0.0), Telemetry(0.0, trouble="Unable to determine the device handle")))
    assert "! no figures: Unable to determine the device handle" in nothing
    assert "MHz" not in nothing


def test_figures_say_how_old_they_are() -> None:
    view = seeing(many_hosts.IDLE, many_hosts.BUSY, now=logs.BEGIN + 3)
    assert "Devices  3 s ago" in told(view)
    assert "Devices  10 min ago" in told(replace(view, now=LATER))
    assert "for 10 min 00 s" in told(replace(view, now=LATER)), "since when the lease is held goes on, too"
    assert "ago" not in told(view_of(many_hosts.begin().hosts(many_hosts.gpu_host()), host="gpu1"))


@pytest.mark.parametrize(
    ("seen", "says", "style"),
    [
        (many_hosts.TAKEN, "✗ train.py (77), 61,102 MiB: not kpd's; measurements wait", ".bad"),
        (many_hosts.TAKEN, "! the clock is lowered: too hot", ".warn"),
        (many_hosts.TAKEN, "· Xorg (812), 4 MiB: tolerated", ".muted"),
        (replace(many_hosts.IDLE, slowed=("power limit",)), "clock held by: power limit", ".muted"),
        (replace(many_hosts.IDLE, unlocked="denied"), "! unknown who has the lease: denied", ".warn"),
        (
            replace(many_hosts.IDLE, computes=(GpuProcess(9, "x", None, "unseen"),)),
            "? x (9): of another container",
            ".muted",
        ),
    ],
)
def test_what_is_out_of_the_ordinary_stands_out(seen: Telemetry, says: str, style: str) -> None:
    view = seeing(many_hosts.IDLE, seen)
    rows = devices.lines(view, view.state.hosts["gpu1"], 100)
    found = next(row for row in rows if says in row.plain)
    assert any(span.style == style for span in found.spans)


def test_of_many_processes_the_foreign_ones_come_first() -> None:
    many = (*(GpuProcess(nth, f"own{nth}", 1, "kpd") for nth in range(6)), GpuProcess(99, "theirs", 1))
    text = told(seeing(many_hosts.IDLE, replace(many_hosts.IDLE, computes=many)))
    assert text.index("theirs") < text.index("own0")
    assert "and 3 more processes" in text


def test_a_device_without_a_run_of_ours_may_be_taken_or_in_use() -> None:
    assert "· free" in told(seeing(many_hosts.IDLE, many_hosts.IDLE))
    assert "■ taken" in told(seeing(many_hosts.IDLE, many_hosts.BUSY))
    assert "✗ in use" in told(seeing(many_hosts.IDLE, many_hosts.TAKEN))


# ── several, and the queue ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("width", [47, 79, 140])
def test_many_gpus_are_a_table_that_cuts_no_figure(width: int) -> None:
    view = view_of(many_hosts.eight(), tab="hosts", host="gpu1")
    rows = devices.lines(view, view.state.hosts["gpu1"], width)
    assert all(row.cell_length <= width for row in rows)
    busy = next(row.plain for row in rows if row.plain.strip().startswith("17:00.0  …")).split()
    assert busy[:3] == ["17:00.0", "…", "r1.1"]
    assert busy[3] == "1,980"
    assert {"413/700", "58"} <= set(busy)
    assert sum("· free" in row.plain for row in rows) == 7, "six GPUs and the CPU"
    assert "29:00.0 ✗ train.py (77), 61,102 MiB" in plain(rows)
    assert "…" not in "".join(busy[3:])


def test_the_queue_of_a_host_has_the_runs_that_may_come_there() -> None:
    log = many_hosts.eight().queued("r4", "transpose_cpu", "elsewhere")
    view = view_of(log, tab="hosts", host="gpu1")
    text = told(view)
    assert "r2 rmsnorm_silu_gpu: gpu1: train.py (77) computes on it" in text
    assert "r3 transpose_cpu, any host" in text
    assert "r4" not in text
    assert text.index("r2 ") < text.index("r3 ")
    assert "Queue" not in told(seeing(many_hosts.IDLE, many_hosts.IDLE))


def test_at_the_widest_checks_stand_beside_the_devices() -> None:
    view = view_of(many_hosts.eight(), tab="hosts", host="gpu1")
    rows = [line.plain for line in pane.lines(view, 185, 60)]
    assert any("Devices" in row and "Checks" in row for row in rows)
    assert all(len(row) <= 185 for row in rows)
    assert not any("Devices" in row and "Checks" in row for row in (line.plain for line in pane.lines(view, 120, 60)))


def test_hostile_names_are_one_harmless_line() -> None:
    bad = GpuProcess(1, "\x1b[2J[red]evil[/red]\nnext‮", 1)
    text = told(
        seeing(many_hosts.IDLE, replace(many_hosts.IDLE, computes=(bad,), holder="[@click=app.quit]x\n\x1b]0;t\x07"))
    )
    assert "[red]evil[/red] next (1)" in " ".join(text.split())
    assert "\x1b" not in text
    assert "‮" not in text


# ── looking again and again ───────────────────────────────────────────────────────────────────────────────────────


def test_the_newest_figures_count_wherever_they_come_from() -> None:
    view = seeing(many_hosts.IDLE, many_hosts.IDLE)
    card = view.state.hosts["gpu1"]
    gpu = card.devices[1]
    live = HostStatus("gpu1", LATER, 7.5, {gpu.id: replace(many_hosts.BUSY, at=LATER)})
    watched = replace(view, looks={"gpu1": live})
    assert hosts.telemetry(watched, card, gpu) == live.devices[gpu.id]
    assert hosts.telemetry(watched, card, card.devices[0]) == card.devices[0].telemetry
    older = replace(watched, looks={"gpu1": replace(live, devices={gpu.id: replace(many_hosts.BUSY, at=1.0)})})
    assert hosts.telemetry(older, card, gpu) == gpu.telemetry
    assert "up 7.5 ms" in plain(pane.lines(watched, 80, 40))
    assert hosts.round_trip(watched, replace(card, link="down")) is None


class Watching(CannedFeed):
    """Answers looks as `answer` says."""

    def __init__(self, log: logs.Log, answer: Callable[[str], Any]) -> None:
        super().__init__(log)
        self.answer = answer
        self.looks: list[str] = []

    async def query(self, what: str, **args: Any) -> Any:
        if what != "glance":
            return await super().query(what, **args)
        self.looks.append(args["host"])
        return json.loads(encode(self.answer(args["host"])))


async def looked(app: KpdApp, pilot: Pilot[Any]) -> None:
    """Wait until every look that was asked for has been answered and shown."""
    if under_way := [one for one in app.workers if one.group == "look"]:
        await app.workers.wait_for_complete(under_way)
    await settled(pilot)


def refuses(code: str) -> Callable[[str], Any]:
    def answer(host: str) -> Any:
        raise DaemonError(code, "no")

    return answer


def seen_busy(host: str) -> list[HostStatus]:
    return [HostStatus(host, LATER, 2.0, {"GPU-0": replace(many_hosts.BUSY, at=LATER)})]


async def test_hosts_are_looked_at_while_their_tab_is_open_and_not_otherwise() -> None:
    feed = Watching(many_hosts.healthy(), seen_busy)
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        pane_of_hosts = app.query_one(HostsPane)
        assert (feed.looks, pane_of_hosts._watching) == ([], None)
        await pilot.press("7")
        await settled(pilot)
        await looked(app, pilot)
        assert set(feed.looks) == {"gpu1"}
        assert "413 of 700 W" in plain(list(pane_of_hosts.lines))
        assert pane_of_hosts._watching is not None
        await pilot.press("1")
        await settled(pilot)
        assert pane_of_hosts._watching is None
        asked = len(feed.looks)
        feed.play([e.Noticed("info", Said("something"))])
        await settled(pilot)
        assert len(feed.looks) == asked


async def test_only_hosts_that_are_up_and_in_full_are_looked_at() -> None:
    feed = Watching(many_hosts.sixteen(), lambda host: [])
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("7", "down")
        await settled(pilot)
        app.query_one(HostsPane)._watch()
        await settled(pilot)
        await looked(app, pilot)
    assert set(feed.looks) == {"gpu5"}, "the others are folded, and gpu4 is down"


@pytest.mark.parametrize("code", ["usage", "unknown"])
async def test_a_daemon_that_does_not_know_the_question_is_asked_once(code: str) -> None:
    feed, glances = Watching(many_hosts.healthy(), refuses(code)), DeviceStatusPoller()
    assert [await glances.ask(feed, "gpu1") for _ in range(3)] == [False] * 3
    assert feed.looks == ["gpu1"]
    newer = Watching(many_hosts.healthy(), seen_busy)
    assert await glances.ask(newer, "gpu1"), "another connection may lead to another daemon"


async def test_a_lost_link_is_asked_again_and_nonsense_is_not_believed() -> None:
    feed, glances = Watching(many_hosts.healthy(), refuses("infra")), DeviceStatusPoller()
    assert [await glances.ask(feed, "gpu1") for _ in range(2)] == [False] * 2
    assert len(feed.looks) == 2
    bad = Watching(many_hosts.healthy(), lambda host: [{"host": 3, "devices": "none"}])
    assert [await glances.ask(bad, "gpu1") for _ in range(2)] == [False] * 2
    assert (len(bad.looks), glances.looks) == (1, {})


async def test_a_host_that_takes_long_is_not_asked_twice_at_once() -> None:
    answered = asyncio.Event()

    class Slow(Watching):
        async def query(self, what: str, **args: Any) -> Any:
            found = await super().query(what, **args)
            await answered.wait()
            return found

    feed, glances = Slow(many_hosts.healthy(), seen_busy), DeviceStatusPoller()
    first = asyncio.create_task(glances.ask(feed, "gpu1"))
    await asyncio.sleep(0)
    assert not await glances.ask(feed, "gpu1")
    answered.set()
    assert await first
    assert feed.looks == ["gpu1"]
