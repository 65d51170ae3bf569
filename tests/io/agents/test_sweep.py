"""The sweep: no point twice, the whole space before it gives up, gains chained along the parents."""

from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from kpd.agents.agent import Exhausted
from kpd.agents.sweep import Sweep
from tests.support.agents.sweeps import context, iteration
from tests.support.model.samples import run_of, task_of


async def test_proposes_from_the_incumbent_and_says_when_it_is_done(tmp_path: Path) -> None:
    task = task_of(tmp_path, {"TILE": ("8", "16")})
    run = run_of(iteration(0, 0, "baseline", None, {"TILE": "8"}))
    sweep = Sweep()
    try:
        proposal = await sweep.propose(context(task, run, 1))
        assert proposal.files == {"kernel.c": b"#define TILE 16\nint x;\n"}
        assert proposal.point == {"TILE": "16"}
        assert proposal.memo == "TILE 8 → 16"
        both = replace(run, iterations=(*run.iterations, iteration(1, 0, "rejected", -3.0, {"TILE": "16"})))
        with pytest.raises(Exhausted, match="all 2 points"):
            await sweep.propose(context(task, both, 2))
    finally:
        await sweep.close()


async def test_the_search_process_has_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    monkeypatch.setenv("KEY_OF_MY_OWN", "secret")
    task = task_of(tmp_path, {"TILE": ("8", "16")})
    before = set(psutil.Process().children())
    sweep = Sweep()
    try:
        await sweep.propose(context(task, run_of(iteration(0, 0, "baseline", None, {"TILE": "8"})), 1))
        (child,) = set(psutil.Process().children()) - before
        environment = child.environ()
    finally:
        await sweep.close()
    assert "PATH" in environment
    assert "secret" not in environment.values()
