"""Hosts in the UI as plain functions: their order, which one is chosen, their text, and why an act cannot be taken."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.hosts import Check, HostCard
from kpd.model.kinds import Told
from kpd.model.state import State
from tests.support.tui import logs, many_hosts
from tests.support.tui.views import plain, view_of
from tui.actions import confirm
from tui.actions.table import BY_ID, reason
from tui.model import hosts
from tui.model.view import View
from tui.panes import hosts as pane


def state_of(*cards: HostCard) -> State:
    return State(seq=1, hosts={card.name: card for card in cards})


def card(name: str, link: str = "up", trouble: str = "", offered: str = "") -> HostCard:
    return replace(HostCard(name, "ssh", trouble=trouble, offered=offered, stuck=bool(offered)), link=link)


def drawn(view: View, width: int = 80, height: int = 40) -> str:
    return plain(pane.lines(view, width, height))


# ── order and choice ──────────────────────────────────────────────────────────────────────────────────────────────


def test_hosts_stand_by_name_whatever_becomes_of_them() -> None:
    names = ["local", "gpu10", "gpu2", "gpu2b", "2a", "10"]
    found = [one.name for one in hosts.ordered(state_of(*(card(name) for name in names)))]
    assert found == ["2a", "10", "gpu2", "gpu2b", "gpu10", "local"]
    down = [one.name for one in hosts.ordered(state_of(*(card(name, "down") for name in reversed(names))))]
    assert down == found


@given(st.lists(st.text(max_size=40), max_size=8, unique=True))
def test_any_names_have_an_order_of_their_own(names: list[str]) -> None:
    found = [one.name for one in hosts.ordered(state_of(*map(card, names)))]
    assert sorted(found) == sorted(names)
    assert [one.name for one in hosts.ordered(state_of(*map(card, reversed(names))))] == found


def test_the_choice_goes_to_who_needs_a_person_but_never_under_the_operators_eyes() -> None:
    up, lost, new = card("a"), card("b", "down", "unreachable"), card("c", "down", "host_key", "SHA256:x")
    assert hosts.chosen(State(), "gone", looking=True) == ""
    assert hosts.chosen(state_of(up), "", looking=False) == "a"
    assert hosts.chosen(state_of(up, lost), "a", looking=False) == "b"
    assert hosts.chosen(state_of(up, lost, new), "b", looking=False) == "c"
    assert hosts.chosen(state_of(up, lost, new), "a", looking=True) == "a"
    assert hosts.chosen(state_of(up, lost), "gone", looking=True) == "b"
    assert hosts.chosen(state_of(up, lost, replace(lost, name="d")), "d", looking=False) == "d"
    assert hosts.chosen(state_of(up, replace(up, name="e")), "e", looking=False) == "e"


def test_time_heals_a_lost_link_and_a_person_everything_else() -> None:
    assert not hosts.needs_person(many_hosts.LOST)
    assert hosts.needs_person(many_hosts.REFUSED)
    assert hosts.needs_person(many_hosts.NEW)
    assert not hosts.needs_person(many_hosts.gpu_host())


# ── one host ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("width", [48, 80, 140])
def test_a_host_is_told_in_full_at_any_width(width: int) -> None:
    text = drawn(view_of(many_hosts.healthy(), tab="hosts", host="gpu1"), width)
    for part in (
        "● gpu1  up 0.4 ms  ssh op@gpu1.lab",
        "Linux 6.8.0",
        "2,918 GB/s",
        "AMD EPYC 9534",
        "CPU 127",
        "· free",
    ):
        assert part in text
    for part in ("NVIDIA H100 80GB HBM3", "sm_90 · 80 GiB · 17:00.0", "… r1.1", "8 ✓  1 –  1 ✗", "✓ nvcc", "CUDA 12.4"):
        assert part in text
    assert "✗ gpu counters  the driver keeps them" in text
    assert "→ set NVreg_RestrictProfilingToAdminUsers=0" in text
    assert all(line.cell_length <= width for line in pane.lines(view_of(many_hosts.healthy(), host="gpu1"), width, 40))


def test_what_was_measured_of_a_gpu_stands_by_its_name() -> None:
    card = replace(many_hosts.gpu_host(), devices=(many_hosts.CPU, replace(many_hosts.H100, bandwidth_gbs=2918.0)))
    assert f"measured: {many_hosts.H100.name} 2,918 GB/s" in drawn(view_of(many_hosts.begin().hosts(card), host="gpu1"))


def test_a_short_remedy_stands_beside_what_was_found() -> None:
    checks = (Check("disk", "bad", "0.2 GiB free", "free 1 GiB there"),)
    log = many_hosts.begin().hosts(many_hosts.gpu_host(checks=checks))
    assert "✗ disk  0.2 GiB free  → free 1 GiB there" in drawn(view_of(log, host="gpu1"))


@pytest.mark.parametrize("width", [48, 100])
def test_of_many_gpus_each_says_who_has_it(width: int) -> None:
    view = view_of(many_hosts.sixteen(), tab="hosts", host="gpu1")
    text = drawn(view, width)
    assert text.count("… r1.1") == text.count("… r2.1") == 1
    assert text.count("· free") == 7, "six GPUs and the CPU"
    for bus in ("17", "20", "29", "32", "3B", "44", "4D", "56"):
        assert f"{bus}:00.0" in text
    assert "… r3.1" in text, "gpu7 is folded, and says who is at work there"


def test_a_device_is_held_by_the_run_that_began_on_it_there() -> None:
    two, state = many_hosts.gpu_host("gpu2"), many_hosts.healthy().hosts(many_hosts.gpu_host("gpu2")).state
    gpu = two.devices[1]
    assert [run.id for run in hosts.holders(state, state.hosts["gpu1"], gpu)] == ["r1"]
    assert not hosts.holders(state, two, gpu), "the same id on another host is another device"
    assert not hosts.holders(state, state.hosts["gpu1"], two.devices[0])
    older = logs.running().emit(e.HostProbed(replace(many_hosts.gpu_host("local"), transport="local"))).state
    assert hosts.holders(older, older.hosts["local"], many_hosts.CPU), "it was begun before devices had ids"
    ended = many_hosts.healthy().emit(e.RunEnded("r1", "improved", Told("done"))).state
    assert not hosts.holders(ended, ended.hosts["gpu1"], gpu)


def test_each_device_of_a_run_shows_its_iteration_and_how_much_of_its_time_was_kpds_own_work() -> None:
    view = view_of(many_hosts.lanes(), tab="hosts", host="gpu1")
    rows = [row.split() for row in drawn(view, 120).splitlines()]
    shown = {row[0]: (row[1], row[2], row[-2]) for row in rows if row and row[-1] == "%" and ":" in row[0]}
    assert shown["17:00.0"][:2] == ("…", "r1.4") and shown["20:00.0"][:2] == ("◔", "r1.5"), "the second waits"
    assert float(shown["29:00.0"][2]) == pytest.approx(1.3, abs=0.2)
    own = view.state.overheads["gpu1"]
    assert own.keys() == {"GPU-0", "GPU-1", "GPU-2"}
    steps = sum(one.steps for one in own.values())
    assert f"kpd's own work: 1.2 % of 17 s in {steps} steps" in drawn(view, 120)


def test_of_runs_that_share_a_device_the_one_that_measures_is_shown() -> None:
    log = many_hosts.healthy().emit(e.RunQueued("r9", "other", "claude", "gpu1", Budget()))
    log.emit(e.RunStarted("r9", "NVIDIA H100", "gpu1", many_hosts.gpu_host("gpu1").devices[1].id))
    log.emit(e.IterationStarted("r9", 0, "baseline", 0)).emit(e.StepStarted("r9", 0, "time", use="measures"))
    assert "r9.0 +1" in drawn(view_of(log, host="gpu1"), 120)
    log.emit(e.RunWaits("r9", Told("gpu1: r1 measures on it")))
    assert "r9.0 +1" not in drawn(view_of(log, host="gpu1"), 120)


def test_a_host_of_an_older_log_shows_the_one_device_it_names_and_its_compiler() -> None:
    text = drawn(view_of(logs.running(), host="local"))
    for part in ("● local  up  this machine", "Xeon", "… r1.6", "compiler  gcc 14", "c checks what works here"):
        assert part in text
    assert hosts.devices(HostCard("bare", "ssh")) == ()


def test_a_host_that_is_down_says_why_and_what_to_do() -> None:
    lost = drawn(view_of(many_hosts.HostsLog().hosts(many_hosts.LOST), host="gpu2"))
    for part in (
        "○ gpu2  down",
        "✗ connect to gpu2.lab port 22: no route to host",
        "→ check the network",
        "R tries at once",
    ):
        assert part in lost
    assert "free" not in lost, "nobody knows"
    assert "link" not in lost, "said once is enough"
    refused = drawn(view_of(many_hosts.begin().hosts(many_hosts.REFUSED), host="gpu4"))
    assert "→ then R tries again" in refused
    assert "✗ just an error; with a remedy" in drawn(
        view_of(many_hosts.begin().hosts(replace(card("x", "down"), error="just an error; with a remedy")), host="x")
    )
    assert "not connected yet" in drawn(view_of(many_hosts.begin().hosts(card("x", "down")), host="x"))
    assert lost.count("kpd keeps trying") == 1


@pytest.mark.parametrize("width", [48, 80])
def test_a_fingerprint_is_never_broken_where_it_is_compared(width: int) -> None:
    view = view_of(many_hosts.troubled(), host="gpu3", keys={"trust": "f8"})
    rows = [line.plain.strip() for line in pane.lines(view, width, 40)]
    assert any(row.endswith(many_hosts.FINGERPRINT.removeprefix("SHA256:")) for row in rows)
    assert "f8 trusts it" in " ".join(" ".join(rows).split())


def test_keys_and_round_trips_are_readable() -> None:
    shown = [drawn(view_of(many_hosts.begin().hosts(replace(many_hosts.gpu_host(), rtt_ms=ms)), host="gpu1")) for ms in
             (0.012, 0.412, 12.34, 240.0, None)]  # fmt: skip
    for text, rtt in zip(shown, ("up 0.010 ms", "up 0.4 ms", "up 12.3 ms", "up 240 ms", "up  ssh"), strict=True):
        assert rtt in text


# ── many hosts ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_many_hosts_are_folded_to_two_lines_but_the_chosen_one() -> None:
    page = pane.page(view_of(many_hosts.sixteen(), host="gpu5"), 80, 30)
    assert len(page.spans) == 16
    assert {name: len(span) for name, span in page.spans.items() if len(span) > 2}.keys() == {"gpu5"}
    assert page.lines[0].plain == "16 hosts  ● 14 up  ○ 2 down  3 of 127 devices taken"
    for name, span in page.spans.items():
        assert name in page.lines[span.start].plain
    assert "8 × H100 80GB HBM3  … r1.1  … r2.1" in plain(page.lines)
    assert "8 × H100 80GB HBM3  ✗ gpu counters" in plain(page.lines)
    assert "✗ connect to gpu2.lab port 22: no route to host  → check the net" in plain(page.lines)


def test_a_host_that_is_folded_shows_how_much_of_its_time_was_kpds_own_work() -> None:
    log = many_hosts.lanes()
    for number in range(2, 12):
        log.emit(e.HostProbed(replace(card(f"gpu{number}"), devices=many_hosts.gpu_host().devices)))
    shown = drawn(view_of(log, tab="hosts", host="gpu2"), 80, 20)
    assert "3 of " in shown and "… r1.4  ◔ r1.5" in shown and "kpd's 1 %" in shown
    assert shown.count("kpd's") == 1, "nothing was measured on the others"


def test_how_many_devices_are_taken_is_left_out_where_there_is_no_room() -> None:
    view = view_of(many_hosts.sixteen(), host="gpu5")
    assert [pane.lines(view, width, 30)[0].plain for width in (46, 34)] == [
        "16 hosts  ● 14 up  ○ 2 down  3 of 127 taken",
        "16 hosts  ● 14 up  ○ 2 down",
    ]


def test_few_hosts_are_all_in_full_where_there_is_room() -> None:
    cards = [replace(many_hosts.gpu_host(name), checks=()) for name in ("gpu1", "gpu2")]
    view = view_of(many_hosts.begin().hosts(*cards), host="gpu2")
    assert drawn(view, 80, 60).count("Devices") == 3
    assert drawn(view, 80, 12).count("Devices") == 1


# ── sentences of the acts ─────────────────────────────────────────────────────────────────────────────────────────


def why(id: str, view: View) -> str:
    return reason(BY_ID[id], view)


def test_what_cannot_be_done_to_a_host_says_why() -> None:
    troubled = view_of(many_hosts.troubled(), host="gpu3")
    assert why("trust", troubled) == why("retry_link", troubled) == why("check_hosts", troubled) == ""
    fine = replace(troubled, host="gpu1")
    assert why("trust", fine) == "gpu1 shows no key that waits for trust"
    assert why("retry_link", fine) == "the link to gpu1 is up"
    assert why("check_host", fine) == ""
    nobody = View(state=State(seq=1), link=troubled.link)
    assert {why(id, nobody) for id in ("trust", "retry_link", "check_hosts", "check_host")} == {"no host is known yet"}


def test_trust_asks_with_host_address_and_fingerprint() -> None:
    question = confirm.trust(view_of(many_hosts.troubled(), host="gpu3"))
    assert question.title == "Trust the key of gpu3?"
    assert many_hosts.FINGERPRINT in question.text
    assert "op@gpu3.lab" in question.text[0]


def test_hosts_in_brief() -> None:
    assert hosts.brief([many_hosts.gpu_host()]) == "gpu1 is up"
    assert hosts.brief([many_hosts.REFUSED]) == "gpu4 is down: permission denied (publickey)"
    assert hosts.brief([card("x", "down")]) == "x is down: not connected yet"
    assert hosts.brief([many_hosts.gpu_host(), many_hosts.LOST, many_hosts.NEW]) == "3 hosts: 1 up, 2 down: gpu2, gpu3"
    assert hosts.brief([many_hosts.gpu_host(), many_hosts.gpu_host("b")]) == "2 hosts: 2 up"


def test_a_host_that_a_scheduler_lends_is_not_told_as_down() -> None:
    here, lent, asked = card("a"), card("b", "down", "released"), card("c", "down", "pending")
    state = state_of(here, lent, asked)
    assert hosts.chosen(state, "a", looking=False) == "a"
    assert hosts.brief([here, lent, asked]) == "3 hosts: 1 up, 1 not allocated: b, 1 asked for: c"
    assert hosts.brief([lent]).startswith("b is not allocated: ")
    text = drawn(replace(view_of(logs.empty()), state=state))
    assert "◌ b  not allocated" in text and "◌ c  asked for" in text and "down" not in text and "✗" not in text
    assert text.count("tries at once") == 1, "who is asked for already"
