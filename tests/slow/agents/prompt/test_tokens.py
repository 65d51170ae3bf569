"""What a run costs in tokens, as benchmarks/prompt_tokens.py measures it; and that what it plays is a real run."""

from dataclasses import replace
from pathlib import Path

import pytest

from kpd.measure.compiling import BuildError
from kpd.measure.cuda.bench import prepare
from tests.support import cuda_standin
from tests.support.agents.asked import shipped
from tests.support.agents.transposes import rewrites, source
from tests.support.measure.cuda_measured import GPU
from tests.support.measure.measured import local_host


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
