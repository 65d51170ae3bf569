"""How much is kept, how it is counted, and where a number turns into another word."""

import pytest

from kpd.model import clocks, events as e
from kpd.model.facts.watchdog import DeviceIdle
from kpd.model.fold import fold, fold_all
from kpd.model.kinds import Told
from kpd.model.metrics import METRICS
from kpd.model.missing import missing_by_reason
from kpd.model.notices import Said
from kpd.model.spending import NOTHING, Spend, Usage, day_of, dollars
from kpd.text.notices import notice as told, watchdog_notice


@pytest.mark.parametrize(("noticed", "kept"), [(49, 49), (50, 50), (51, 50), (120, 50)])
def test_the_newest_fifty_notices_are_kept(noticed: int, kept: int) -> None:
    log = [e.Event(at, float(at), e.Noticed("info", Said(str(at)))) for at in range(1, noticed + 1)]
    assert [told(notice) for notice in fold_all(log).notices] == [str(at) for at in range(1, noticed + 1)][-kept:]


def test_an_event_counts_once_and_what_comes_after_it_counts() -> None:
    first, second = (e.Event(at, 10.0 * at, e.Noticed("info", Said(str(at)))) for at in (1, 2))
    state = fold(fold_all([first]), first)
    assert (state.seq, state.at, len(state.notices)) == (1, 10.0, 1)
    state = fold(state, second)
    assert (state.seq, state.at, len(state.notices)) == (2, 20.0, 2)


@pytest.mark.parametrize(("count", "named"), [(1, True), (8, True), (9, False)])
def test_eight_metrics_of_a_reason_are_named_one_by_one(count: int, named: bool) -> None:
    names = list(METRICS)[:count]
    (lack,) = missing_by_reason(dict.fromkeys(names, "why"))
    assert lack.count == count
    assert (lack.what == ", ".join(METRICS[name].label for name in names)) is named


@pytest.mark.parametrize(
    ("usd", "told"),
    [
        (0.0, "$0.00"), (0.00004, "<$0.0001"), (0.00005, "$0.0001"), (0.0999, "$0.0999"), (0.1, "$0.10"),
        (1234.5, "$1,234.50"),
    ],
)  # fmt: skip
def test_money_has_four_decimals_below_ten_cents(usd: float, told: str) -> None:
    assert dollars(usd) == told


def test_calls_add_up_and_those_without_a_price_are_counted() -> None:
    spend = NOTHING.with_call(Usage(1, 2, 3, 4), 0.5).with_call(Usage(10, 20, 30, 40), None)
    assert spend == Spend(2, Usage(11, 22, 33, 44), 0.5, 1)
    assert spend.usage.total == 110


@pytest.mark.parametrize(("at", "day"), [(86_399.9, "1970-01-01"), (86_400.0, "1970-01-02")])
def test_money_is_counted_by_the_day_of_greenwich(at: float, day: str) -> None:
    assert day_of(at) == day


@pytest.mark.parametrize(("seconds", "told"), [(600.0, "10 min"), (7199.0, "120 min"), (7200.0, "2.0 h")])
def test_from_two_hours_on_a_standstill_is_told_in_hours(seconds: float, told: str) -> None:
    assert told in watchdog_notice(DeviceIdle("box", "H100", "GPU-1", seconds, ("r1",), Told("it waits")))


@pytest.mark.parametrize(
    ("bits", "words"),
    [
        (0x01, ()), (0x02, ("application clocks",)), (0x04, ("power limit",)), (0x08, ("hardware slowdown",)),
        (0x10, ("sync boost",)), (0x20, ("too hot",)), (0x40, ("too hot",)), (0x60, ("too hot",)),
        (0x80, ("power brake",)), (0x100, ("display clocks",)), (0x200, ()),
    ],
)  # fmt: skip
def test_nvml_s_reasons_for_a_lowered_clock(bits: int, words: tuple[str, ...]) -> None:
    assert clocks.words(bits) == words


def test_which_of_them_are_trouble_and_which_are_idling() -> None:
    assert clocks.words(clocks.IDLE) == clocks.words(0) == ()
    assert clocks.words(clocks.TROUBLE) == ("hardware slowdown", "too hot", "power brake")
    assert [bit for bit in (1 << at for at in range(16)) if bit & clocks.TROUBLE] == [0x08, 0x20, 0x40, 0x80]
