"""What a run costs in tokens, as benchmarks/prompt_tokens.py measures it; and that what it plays is a real run."""

import asyncio
from typing import Any

import pytest

from benchmarks import prompt_tokens
from kpd.workspace.config import ClaudeConfig
from tests.support.agents.transposes import rewrites


@pytest.fixture(scope="module", name="found")
def _found() -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ClaudeConfig().api_key_env, "")
        return asyncio.run(prompt_tokens.measured(ClaudeConfig().model))


def test_the_limits_are_held(found: dict[str, Any]) -> None:
    assert found["broken"] == []
    plain = found["plain_transpose"]
    assert plain["most_in_all"] <= prompt_tokens.MOST_TOKENS == 7000
    assert plain["cached_pct_from_the_second_on"] >= prompt_tokens.LEAST_CACHED_PCT == 60


def test_it_is_a_run_of_eight_iterations_with_all_that_comes_up_in_one(found: dict[str, Any]) -> None:
    calls = found["plain_transpose"]["calls"]
    assert [call["purpose"] for call in calls].count("propose") == 8
    assert [call["purpose"] for call in calls].count("compile_fix") == 1
    assert {turn.outcome for turn in rewrites()} == {"accepted", "rejected"}
    assert all(call["output"] > 600 for call in calls), "whole rewrites, as long as they are"
    assert calls[0]["cache_read"] == 0


def test_after_a_long_pause_all_of_it_is_written_anew(found: dict[str, Any]) -> None:
    paused = found["plain_transpose"]["after_a_long_pause"]
    assert paused["cache_read"] == 0
    assert paused["cache_write"] > 4000


@pytest.mark.parametrize(("name", "limit"), [("MOST_TOKENS", 6000), ("LEAST_CACHED_PCT", 80.0)])
def test_a_limit_that_is_not_held_is_told(
    name: str, limit: float, found: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prompt_tokens, name, limit)
    (line,) = prompt_tokens.unheld(found["plain_transpose"])
    assert str(limit) in line
