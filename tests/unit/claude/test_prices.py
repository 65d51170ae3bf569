"""Prices as data, what a call costs, and what is heard of a reply whatever the service sends."""

import datetime

import pytest
from hypothesis import given, strategies as st

from kpd.claude.prices import cost, known, price, table
from kpd.claude.stream import MalformedEvent, StreamedReply
from kpd.claude.tokens import most_tokens, tokens
from kpd.model.spending import Usage
from kpd.workspace.config import ClaudeConfig, PriceConfig

COUNT = st.integers(0, 300_000)
USAGE = st.builds(Usage, COUNT, COUNT, COUNT, COUNT)


def test_the_table_says_when_and_from_where() -> None:
    assert datetime.date.fromisoformat(table().date) >= datetime.date(2026, 11, 1)
    assert all(source.startswith("https://") for source in table().sources)


def test_the_defaults_have_a_price_and_take_an_effort() -> None:
    config = ClaudeConfig()
    for name in (config.model, config.small_model):
        model = known(name)
        assert model is not None
        assert model.effort
        assert model.min_cache == 512
        assert price(name, config) == model.price


@pytest.mark.parametrize("name", sorted(table().models))
def test_prices_are_in_the_order_that_prices_have(name: str) -> None:
    rates = table().models[name].price
    for each in (rates, rates.long or rates):
        assert 0 < each.cache_read < each.input < each.cache_write < each.output


def test_a_pinned_name_is_the_same_model() -> None:
    assert known("claude-haiku-4-5-20251001") == known("claude-haiku-4-5")
    assert known("claude-haiku-4-5-2025") is None
    assert price("claude-sonnet-5-5-next", ClaudeConfig()) is None


def test_the_operator_s_price_takes_the_usual_parts_for_the_cache() -> None:
    config = ClaudeConfig(prices={"mine": PriceConfig(4.0, 8.0), "all": PriceConfig(4.0, 8.0, 6.0, 0.0)})
    mine, full = price("mine", config), price("all", config)
    assert mine is not None
    assert full is not None
    assert (mine.cache_write, mine.cache_read) == (5.0, 0.4)
    assert (full.cache_write, full.cache_read) == (6.0, 0.0)


def test_a_long_prompt_costs_more_in_all_of_it() -> None:
    haiku = table().models["claude-haiku-5-5"].price
    assert cost(Usage(input=100_000, output=1000), haiku) == pytest.approx(0.0105)
    assert cost(Usage(input=100_001, output=1000), haiku) == pytest.approx(0.0525005)
    assert cost(Usage(input=1, cache_read=100_000), haiku) == pytest.approx(0.0050005)


@given(st.sampled_from(sorted(table().models)), USAGE, USAGE)
def test_more_tokens_never_cost_less(name: str, usage: Usage, more: Usage) -> None:
    rates = table().models[name].price
    assert 0 <= cost(usage, rates) <= cost(usage + more, rates) + 1e-12


@given(st.text())
def test_tokens_are_counted_and_bounded(text: str) -> None:
    assert tokens(text) <= most_tokens(text) <= len(text.encode()) / 2 + 1
    assert bool(text) == bool(tokens(text))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
EVENT = JSON | st.fixed_dictionaries(
    {"type": st.sampled_from(["message_start", "content_block_delta", "message_delta", "message_stop", "odd"])},
    optional={
        "message": JSON | st.fixed_dictionaries({"usage": st.dictionaries(st.sampled_from(COUNTS), JSON)}),
        "delta": JSON
        | st.fixed_dictionaries({"type": st.just("text_delta"), "text": st.text() | JSON})
        | st.fixed_dictionaries({"type": st.just("thinking_delta"), "thinking": st.text() | JSON}),
        "usage": st.dictionaries(st.sampled_from(COUNTS), JSON) | JSON,
    },
)


@given(st.lists(EVENT, max_size=8))
def test_whatever_comes_is_heard_or_garbled(events: list[object]) -> None:
    heard, said = StreamedReply(), ""
    for event in events:
        try:
            said += heard.take(event)
        except MalformedEvent:
            continue
    assert heard.text == said
    used = heard.usage(1000)
    assert all(isinstance(count, int) and count >= 0 for count in (used.input, used.output))


def test_what_the_service_counts_at_the_end_holds() -> None:
    heard = StreamedReply()
    start = {"input_tokens": 5, "cache_read_input_tokens": None, "output_tokens": 1}
    heard.take({"type": "message_start", "message": {"usage": start}})
    heard.take({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "x" * 100}})
    assert heard.usage(1000) == Usage(input=5, output=50)
    heard.take({"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "y" * 100}})
    assert heard.usage(1000) == Usage(input=5, output=100)
    assert heard.usage(70) == Usage(input=5, output=70), "no reply is longer than it may be"
    heard.take({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}})
    heard.take({"type": "message_stop"})
    assert heard.usage(1000) == Usage(input=5, output=7)
    assert (heard.stop, heard.begun, heard.ended) == ("end_turn", True, True)
