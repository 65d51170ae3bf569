"""The stand-in's own account of the prompt cache, held against what the service documents."""

from typing import Any

from hypothesis import given, strategies as st

from kpd.claude.tokens import tokens
from tests.support.claude.anthropic_cache import Cache, Charge


def body(*system: str, user: str = "and?", marked: tuple[int, ...] = (0,), model: str = "claude-sonnet-5-5") -> Any:
    parts = [{"type": "text", "text": text} for text in system]
    for at in marked:
        parts[at]["cache_control"] = {"type": "ephemeral"}  # type: ignore[assignment]
    return {"model": model, "system": parts, "messages": [{"role": "user", "content": user}]}


LONG = "y" * 5000  # 2000 tokens
SHORT = "z" * 500  # 200 tokens


def test_written_once_then_read() -> None:
    cache = Cache()
    assert cache.charge(body(LONG), 0) == Charge(tokens("and?"), 2000, 0)
    assert cache.charge(body(LONG, user="else?"), 1) == Charge(tokens("else?"), 0, 2000)


def test_below_the_model_s_minimum_nothing_is_kept() -> None:
    cache = Cache()
    for _ in range(2):
        assert cache.charge(body(SHORT), 0).cache_write == 0
        assert cache.charge(body(LONG, model="claude-haiku-4-5"), 0) == Charge(2002, 0, 0)


def test_an_entry_lives_five_minutes_from_its_last_use() -> None:
    cache = Cache()
    cache.charge(body(LONG), 0)
    assert cache.charge(body(LONG), 299).cache_read == 2000
    assert cache.charge(body(LONG), 598).cache_read == 2000
    assert cache.charge(body(LONG), 899).cache_read == 0


def test_a_changed_byte_loses_all_that_follows() -> None:
    cache = Cache()
    cache.charge(body(LONG, LONG + "1", marked=(0, 1)), 0)
    changed = cache.charge(body(LONG, LONG + "2", marked=(0, 1)), 1)
    assert (changed.cache_read, changed.cache_write) == (2000, 2001)
    assert cache.charge(body("x" + LONG, LONG, marked=(0, 1)), 2).cache_read == 0


def test_models_do_not_share() -> None:
    cache = Cache()
    cache.charge(body(LONG), 0)
    assert cache.charge(body(LONG, model="claude-opus-5-5"), 1).cache_read == 0


def test_a_breakpoint_that_is_too_early_is_covered_by_a_later_one() -> None:
    cache = Cache()
    assert cache.charge(body(SHORT, LONG, marked=(0, 1)), 0).cache_write == 2200
    other = cache.charge(body(SHORT, "different" + LONG, marked=(0, 1)), 1)
    assert other.cache_read == 0


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6), st.integers(0, 2))
def test_every_token_is_billed_once(sizes: list[int], last: int) -> None:
    cache, texts = Cache(), [f"{at}" * (size * 900 + 1) for at, size in enumerate(sizes)]
    marked = (min(last, len(texts) - 1),)
    total = sum(map(tokens, [*texts, "and?"]))
    for now in range(3):
        charge = cache.charge(body(*texts, marked=marked), now)
        assert charge.input + charge.cache_write + charge.cache_read == total
