"""What a run costs in tokens, as benchmarks/prompt_tokens.py measures it; and that what it plays is a real run."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import prompt_tokens
from kpd.measure.compiling import BuildError
from kpd.measure.cuda.bench import prepare
from kpd.workspace.config import ClaudeConfig
from tests.support import cuda_standin
from tests.support.agents.asked import shipped
from tests.support.agents.transposes import rewrites, source
from tests.support.measure.cuda_measured import GPU
from tests.support.measure.measured import local_host


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


@pytest.mark.slow
async def test_the_rewrites_are_right_and_what_does_not_compile_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(cuda_standin.BIN), prepend=":")
    task, _ = shipped("transpose_cuda")
    turns = rewrites()
    async with local_host(tmp_path) as host:
        bench = await prepare(host, task, replace(GPU, name="a stand-in for a GPU", arch="sm_00"), quiet)
        for number, text in enumerate((source("naive"), *(turn.source for turn in turns))):
            files = {"kernel.cu": text.encode()}
            built = await bench.build(await bench.stage(files), files, quiet)
            assert (await bench.check(built.job, f"check{number}", quiet)).worst <= 1
        (failed,) = (turn.before for turn in turns if turn.before)
        files = {"kernel.cu": failed.source.encode()}
        with pytest.raises(BuildError):
            await bench.build(await bench.stage(files), files, quiet)


def quiet(text: str) -> None:
    """Nobody listens."""
