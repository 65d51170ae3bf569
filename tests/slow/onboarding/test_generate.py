"""A task from a production kernel, with a scripted model service: right at once, right at last, never, and hostile."""

from dataclasses import replace
from pathlib import Path

import pytest

from kpd.measure.bench import CheckFailed
from kpd.measure.cuda.bench import prepare
from kpd.onboarding.generate import GivenUp
from kpd.workspace import sections
from kpd.workspace.task import load_task
from tests.support import cuda_standin
from tests.support.claude.anthropic_server import Reply
from tests.support.measure.cuda_driver import NVCC
from tests.support.measure.cuda_measured import GPU
from tests.support.measure.measured import local_host
from tests.support.onboarding.generate import compilers, workshop
from tests.support.onboarding.kernels import GOOD, fenced


async def test_a_task_that_was_made_judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own kernel is right, and one that forgets the bias is found out."""
    async with workshop(tmp_path, [Reply(fenced(GOOD))]) as shop:
        task = load_task(await shop.make())
    monkeypatch.setenv("PATH", str(cuda_standin.BIN), prepend=":")
    async with local_host(tmp_path / "host") as host:
        bench = await prepare(host, task, replace(GPU, arch="sm_00"), lambda text: None)
        whole = sections.split((task.folder / task.sectioned).read_bytes())
        for number, kernel in enumerate((whole.kernel, whole.kernel.replace(b"x + bias.add", b"x"))):
            files = {task.sectioned: whole.with_kernel(kernel).whole}
            built = await bench.build(await bench.stage(files), files, lambda text: None)
            checking = bench.check(built.job, f"check{number}", lambda text: None)
            if number == 0:
                assert (await checking).worst <= 1
            else:
                with pytest.raises(CheckFailed, match=r"out\[\d+\] is .*, should be"):
                    await checking


@pytest.mark.parametrize("nvcc", compilers())
async def test_what_does_not_compile_goes_back_with_the_compilers_words(nvcc: str, tmp_path: Path) -> None:
    broken = GOOD.replace("(int)c->dims[1], factor(c)", "(int)c->dims[1], faktor(c)")
    async with workshop(tmp_path, [Reply(fenced(broken)), Reply(fenced(GOOD))], nvcc=nvcc) as shop:
        folder = await shop.make()
    assert load_task(folder).sectioned == "row_scale.cu"
    assert "faktor" in shop.server.asked[1].turns[0].split("It was refused:")[1]


async def test_what_the_compiled_harness_says_counts(tmp_path: Path) -> None:
    """Its text says 64, its program 65: the compiler defines what nobody here does."""
    macros = "#ifndef __GNUC__\n#define MORE\n#else\n#define MORE + 1\n#endif\n"
    sly = macros + GOOD.replace("{32768, 64}", "{32768, 64 MORE}")
    async with workshop(tmp_path, [Reply(fenced(sly))], nvcc=NVCC) as shop:
        with pytest.raises(GivenUp, match="case top1 has width = 65, but 64 was observed"):
            await shop.make(builds=1)
    assert shop.left == []
